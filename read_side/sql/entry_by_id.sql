-- $1 workspace, $2 environment, $3 id, $4 locale
SELECT t.slug AS type_slug, t.name AS type_name, t.fields AS type_fields, e.version,
       coalesce(e.stored, e.fields) AS stored,
       e.translations,
\ir rows/summary_columns.sql
FROM read_model.entry e
JOIN read_model.content_type t ON (t.workspace, t.id) = (e.workspace, e.content_type_id)
\ir rows/translation.sql
WHERE e.workspace = :workspace AND e.environment = :environment AND e.id = :id::uuid
