SELECT
\ir stamp.sql
id::text, slug, name, fields, stages, created_at, updated_at
FROM read_model.content_type
WHERE workspace = :workspace AND environment = :environment
