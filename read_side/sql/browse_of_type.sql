-- $1 workspace, $2 environment, $3 status, $4 language, $5 locale, $6 limit, $7 offset, $8 type
WITH totals AS (
    SELECT coalesce(sum(n), 0)::bigint AS total FROM read_model.entry_count
    WHERE workspace = $1 AND environment = $2 AND content_type_id = $8::uuid
      AND ($3 = '' OR status = $3) AND ($4 = '' OR language = $4)
)
SELECT totals.total, totals.total AS looked, e.id::text, e.content_type_id::text AS type_id,
       e.title, l.title AS translated, e.slug, e.status, e.stage_id, e.language,
       e.created_at, e.updated_at, e.published_at
FROM totals
LEFT JOIN LATERAL (
    SELECT id, created_at, position FROM read_model.entry
    WHERE workspace = $1 AND environment = $2 AND content_type_id = $8::uuid
      AND ($3 = '' OR status = $3) AND ($4 = '' OR language = $4)
    ORDER BY created_at DESC, position DESC
    -- No further than to the last one that matches: behind it would be only others.
    LIMIT least($6, greatest(totals.total - $7, 0)) OFFSET $7
) page ON true
LEFT JOIN LATERAL (
    SELECT * FROM read_model.entry
    WHERE workspace = $1 AND environment = $2 AND id = page.id LIMIT 1
) e ON true
LEFT JOIN LATERAL (
    SELECT title FROM read_model.entry_locale
    WHERE workspace = $1 AND environment = $2 AND locale = $5 AND id = page.id LIMIT 1
) l ON true
ORDER BY page.created_at DESC, page.position DESC
