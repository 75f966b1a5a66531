-- $1 workspace, $2 environment, $3 limit, $4 offset
WITH totals AS (
    SELECT coalesce(sum(n), 0)::bigint AS total FROM read_model.entry_count
    WHERE workspace = $1 AND environment = $2
)
SELECT totals.total, page.id::text
FROM totals
LEFT JOIN LATERAL (
    SELECT id, created_at, position FROM read_model.entry
    WHERE workspace = $1 AND environment = $2
    ORDER BY created_at DESC, position DESC LIMIT $3 OFFSET $4
) page ON true
ORDER BY page.created_at DESC, page.position DESC
