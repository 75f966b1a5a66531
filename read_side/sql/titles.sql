-- $1 workspace, $2 environment, $3 entry ids, $4 locale
SELECT e.id::text, coalesce(l.title, e.title) AS title, e.status
FROM unnest($3::uuid[]) AS wanted (id)
CROSS JOIN LATERAL (
    SELECT id, title, status FROM read_model.entry
    WHERE workspace = $1 AND environment = $2 AND id = wanted.id LIMIT 1
) e
LEFT JOIN LATERAL (
    SELECT title FROM read_model.entry_locale
    WHERE workspace = $1 AND environment = $2 AND locale = $4 AND id = e.id LIMIT 1
) l ON true
