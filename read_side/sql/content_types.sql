-- $1 workspace, $2 environment
SELECT
\ir rows/stamp.sql
id::text, slug, name, fields, stages, created_at, updated_at
FROM read_model.content_type
WHERE workspace = $1 AND environment = $2
ORDER BY slug
