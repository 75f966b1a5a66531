-- $1 id, $2 workspace, $3 name, $4 secret hash, $5 permissions, $6 revoked
INSERT INTO write_side.key_claim (id, workspace, name, secret_hash, permissions, revoked)
VALUES ($1, $2, $3, $4, $5, $6)
