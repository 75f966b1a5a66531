-- $1 ids
SELECT id, workspace, name, permissions, issued_at, revoked_at FROM api_key WHERE id = ANY ($1)
