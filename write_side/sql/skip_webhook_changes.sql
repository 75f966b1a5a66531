-- $1 workspace, $2 name, $3 created, $4 after, $5 position
UPDATE write_side.webhook_cursor SET position = $5
WHERE (workspace, name, created, position) = ($1, $2, $3, $4)
RETURNING position
