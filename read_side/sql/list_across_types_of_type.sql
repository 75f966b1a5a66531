-- $1 workspace, $2 environment, $3 limit, $4 offset, $5 locale, $6 type slug
SELECT totals.total, t.id::text AS type_id, t.name AS type_name, t.slug AS type_slug,
       e.id::text, coalesce(l.title, e.title) AS title, e.slug, e.status, e.stage_id,
       e.stage, e.language, e.published_at, e.created_at, e.updated_at,
       CASE WHEN e.type_version = t.version THEN coalesce(l.fields, e.fields) END AS fields,
       CASE WHEN e.type_version <> t.version THEN e.stored END AS stored,
       CASE WHEN e.type_version <> t.version THEN e.translations END AS translations,
       CASE WHEN e.type_version <> t.version THEN t.fields END AS type_fields,
       CASE WHEN e.type_version <> t.version THEN t.stages END AS type_stages
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
LEFT JOIN LATERAL (
    SELECT * FROM read_model.entry
    WHERE workspace = $1 AND environment = $2 AND id = page.id LIMIT 1
) e ON true
LEFT JOIN LATERAL (
    SELECT title, fields FROM read_model.entry_locale
    WHERE workspace = $1 AND environment = $2 AND locale = $5 AND id = page.id LIMIT 1
) l ON true
WHERE t.workspace = $1 AND t.environment = $2 AND t.slug = $6
ORDER BY page.created_at DESC, page.position DESC
