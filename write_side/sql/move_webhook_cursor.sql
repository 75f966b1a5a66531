-- $1 workspace, $2 name, $3 position
UPDATE write_side.webhook_cursor
SET position = $3, attempt = 0, failing_since = NULL, next_try = NULL
WHERE workspace = $1 AND name = $2
RETURNING pg_notify('contentlog_webhook', workspace || '/' || name)
