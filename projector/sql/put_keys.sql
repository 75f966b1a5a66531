-- $1 id, $2 workspace, $3 name, $4 permissions, $5 issued at, $6 revoked at
INSERT INTO api_key (id, workspace, name, permissions, issued_at, revoked_at)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (id, workspace) DO UPDATE SET
    permissions = excluded.permissions, revoked_at = excluded.revoked_at
