-- $1 workspaces, $2 ids
SELECT id::text, workspace, environment, slug, name, fields, stages, version, created_at, updated_at
FROM content_type JOIN unnest($1::text[], $2::uuid[]) AS wanted (workspace, id) USING (workspace, id)
