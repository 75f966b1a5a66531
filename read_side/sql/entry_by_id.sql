-- $1 workspace, $2 environment, $3 entry id, $4 locale
SELECT e.id::text, e.content_type_id::text AS type_id, t.slug AS type_slug, t.name AS type_name,
       e.title, l.title AS translated, e.slug, e.status, e.stage_id, e.language,
       e.created_at, e.updated_at, e.published_at, e.version, t.fields AS type_fields,
       e.stored, e.translations
FROM read_model.entry e
JOIN read_model.content_type t ON t.id = e.content_type_id
LEFT JOIN read_model.entry_locale l
    ON l.workspace = $1 AND l.environment = $2 AND l.locale = $4 AND l.id = e.id
WHERE e.workspace = $1 AND e.environment = $2 AND e.id = $3::uuid
