-- $1 ids
SELECT id::text, workspace, environment, slug, name, fields, stages, version, created_at, updated_at
FROM content_type WHERE id = ANY ($1::uuid[])
