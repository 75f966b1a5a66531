-- $1 workspaces, $2 ids
SELECT id, workspace, name, permissions, issued_at, revoked_at
FROM api_key JOIN unnest($1::text[], $2::text[]) AS wanted (workspace, id) USING (workspace, id)
