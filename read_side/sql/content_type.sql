-- $1 workspace, $2 environment, $3 slug
SELECT
\ir rows/stamp.sql
id::text, slug, name, fields, stages, created_at, updated_at
FROM read_model.content_type
WHERE workspace = $1 AND environment = $2 AND slug = $3
