-- $1 workspace, $2 name, $3 failed only, $4 limit
SELECT number, at, message_id, type, attempt, status, error, duration_ms, response
FROM write_side.webhook_delivery
WHERE workspace = $1 AND name = $2 AND (error IS NOT NULL OR NOT $3)
ORDER BY number DESC LIMIT $4
