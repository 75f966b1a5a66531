-- $1 workspace, $2 environment, $3 limit, $4 offset, $5 type slug
SELECT totals.total, page.id::text
FROM read_model.content_type t
CROSS JOIN LATERAL (
    SELECT coalesce(sum(n), 0)::bigint AS total FROM read_model.entry_count
    WHERE workspace = $1 AND environment = $2 AND content_type_id = t.id
) totals
LEFT JOIN LATERAL (
    SELECT id, created_at, position FROM read_model.entry
    WHERE workspace = $1 AND environment = $2 AND content_type_id = t.id
    ORDER BY created_at DESC, position DESC LIMIT $3 OFFSET $4
) page ON true
WHERE t.workspace = $1 AND t.environment = $2 AND t.slug = $5
ORDER BY page.created_at DESC, page.position DESC
