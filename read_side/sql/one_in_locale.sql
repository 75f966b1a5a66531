-- $1 workspace, $2 environment, $3 type slug, $4 language, $5 entry slug, $6 locale
SELECT t.id::text AS type_id, t.name AS type_name, t.slug AS type_slug,
       e.id::text, coalesce(l.title, e.title) AS title, e.slug, e.status, e.stage_id,
       e.stage, e.language, e.published_at, e.created_at, e.updated_at,
       CASE WHEN e.type_version = t.version THEN coalesce(l.fields, e.fields) END AS fields,
       CASE WHEN e.type_version <> t.version THEN e.stored END AS stored,
       CASE WHEN e.type_version <> t.version THEN e.translations END AS translations,
       CASE WHEN e.type_version <> t.version THEN t.fields END AS type_fields,
       CASE WHEN e.type_version <> t.version THEN t.stages END AS type_stages
FROM read_model.content_type t
LEFT JOIN read_model.entry e
    ON e.workspace = $1 AND e.environment = $2 AND e.content_type_id = t.id AND e.language = $4
   AND e.slug_hash = sha256(convert_to($5, 'UTF8'))
LEFT JOIN read_model.entry_locale l
    ON l.workspace = $1 AND l.environment = $2 AND l.locale = $6 AND l.id = e.id
WHERE t.workspace = $1 AND t.environment = $2 AND t.slug = $3
