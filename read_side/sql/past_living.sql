-- $1 workspace, $2 environment, $3 positions
-- The entries at these positions, which have not changed since a moment.
SELECT e.position, e.id::text, e.version, e.content_type_id::text AS type_id
FROM unnest($3::bigint[]) AS wanted(position)
CROSS JOIN LATERAL (
    SELECT position, id, version, content_type_id FROM read_model.entry
    WHERE workspace = $1 AND environment = $2 AND position = wanted.position
    LIMIT 1
) e
