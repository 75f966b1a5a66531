-- $1 workspace, $2 environment, $3 limit, $4 offset, $5 type slug, $6 status, $7 language; null: any
-- Of every type, status and language that is asked for the first ones, each by an index scan over
-- narrow keys, and of those the page.
WITH types AS (
    SELECT id FROM read_model.content_type
    WHERE workspace = $1 AND environment = $2 AND ($5::text IS NULL OR slug = $5)
), selected AS MATERIALIZED (
    SELECT c.content_type_id, c.status, c.language, c.n
    FROM read_model.entry_count c JOIN types t ON t.id = c.content_type_id
    WHERE c.workspace = $1 AND c.environment = $2 AND c.n > 0
      AND ($6::text IS NULL OR c.status = $6) AND ($7::text IS NULL OR c.language = $7)
), page AS (
    SELECT e.id, e.created_at, e.position FROM selected s
    CROSS JOIN LATERAL (
        SELECT id, created_at, position FROM read_model.entry
        WHERE workspace = $1 AND environment = $2 AND content_type_id = s.content_type_id
          AND status = s.status AND language = s.language
        ORDER BY created_at DESC, position DESC LIMIT $3::bigint + $4::bigint
    ) e
    ORDER BY e.created_at DESC, e.position DESC LIMIT $3 OFFSET $4
)
SELECT (SELECT coalesce(sum(n), 0)::bigint FROM selected) AS total, page.id::text
FROM (SELECT FROM types LIMIT 1) known
LEFT JOIN page ON true
ORDER BY page.created_at DESC, page.position DESC
