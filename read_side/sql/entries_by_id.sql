-- $1 workspace, $2 environment, $3 ids, $4 locale
SELECT t.id::text AS type_id, t.name AS type_name, t.slug AS type_slug,
       e.id::text, coalesce(l.title, e.title) AS title, e.slug, e.status, e.stage_id,
       e.stage, e.language, e.published_at, e.created_at, e.updated_at, e.version,
       CASE WHEN e.type_version = t.version THEN coalesce(l.fields, e.fields) END AS fields,
       CASE WHEN e.type_version <> t.version THEN e.stored END AS stored,
       CASE WHEN e.type_version <> t.version THEN e.translations END AS translations,
       CASE WHEN e.type_version <> t.version THEN t.fields END AS type_fields,
       CASE WHEN e.type_version <> t.version THEN t.stages END AS type_stages
FROM unnest($3::uuid[]) AS wanted (id)
CROSS JOIN LATERAL (
    SELECT * FROM read_model.entry
    WHERE workspace = $1 AND environment = $2 AND id = wanted.id LIMIT 1
) e
JOIN read_model.content_type t ON t.id = e.content_type_id
LEFT JOIN LATERAL (
    SELECT title, fields FROM read_model.entry_locale
    WHERE workspace = $1 AND environment = $2 AND locale = $4 AND id = wanted.id LIMIT 1
) l ON true
