-- $1 workspace, $2 environment, $3 status, $4 language, $5 locale, $6 limit, $7 offset, $8 searched, $9 most, $10 type
WITH newest AS (
    SELECT id, created_at, position, title FROM read_model.entry
    WHERE workspace = $1 AND environment = $2 AND content_type_id = $10::uuid
      AND ($3 = '' OR status = $3) AND ($4 = '' OR language = $4)
    ORDER BY created_at DESC, position DESC LIMIT $9
), matches AS MATERIALIZED (
    SELECT id, created_at, position FROM newest
    WHERE position(lower($8) IN lower(title)) > 0 OR id IN (
        SELECT id FROM read_model.entry_locale
        WHERE workspace = $1 AND environment = $2 AND locale = $5 AND position(lower($8) IN lower(title)) > 0)
), totals AS (
    SELECT (SELECT count(*) FROM matches) AS total, (SELECT count(*) FROM newest) AS looked
)
SELECT totals.total, totals.looked, e.id::text, e.content_type_id::text AS type_id,
       e.title, l.title AS translated, e.slug, e.status, e.stage_id, e.language,
       e.created_at, e.updated_at, e.published_at
FROM totals
LEFT JOIN LATERAL (
    SELECT id, created_at, position FROM matches
    ORDER BY created_at DESC, position DESC LIMIT $6 OFFSET $7
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
