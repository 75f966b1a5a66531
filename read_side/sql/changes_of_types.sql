-- $1 workspace, $2 environment, $3 after, $4 limit, $5 types, $6 kinds, $7 published
-- Like changes_of_kinds.sql, with the index on content types.
WITH lanes AS (
    SELECT type, kind, published
    FROM unnest(:types::text[]) AS type, unnest(:kinds::text[]) AS kind,
         unnest(:published::boolean[]) AS published
), page AS (
    SELECT found.position FROM lanes CROSS JOIN LATERAL (
        SELECT position FROM read_model.change
        WHERE workspace = :workspace AND environment = :environment AND content_type = lanes.type
          AND kind = lanes.kind AND published = lanes.published AND -position < -:after::bigint
        ORDER BY -position DESC LIMIT :limit::bigint
    ) found
    ORDER BY found.position LIMIT least(:limit::bigint, 501)
), previous AS (
    SELECT found.position FROM lanes CROSS JOIN LATERAL (
        SELECT position FROM read_model.change
        WHERE workspace = :workspace AND environment = :environment AND content_type = lanes.type
          AND kind = lanes.kind AND published = lanes.published AND -position >= -:after::bigint
        ORDER BY -position LIMIT 1
    ) found
    ORDER BY found.position DESC LIMIT 1
)
\ir rows/changes.sql
