-- $1 workspace, $2 name, $3 message id, $4 type, $5 attempt, $6 status, $7 error, $8 duration, $9 response, $10 kept
WITH moved AS (
    UPDATE write_side.webhook_cursor SET deliveries = deliveries + 1
    WHERE workspace = $1 AND name = $2
    RETURNING deliveries
)
INSERT INTO write_side.webhook_delivery
    (workspace, name, slot, number, message_id, type, attempt, status, error, duration_ms, response)
SELECT $1, $2, deliveries % $10::int, deliveries, $3, $4, $5::int, $6::int, $7, $8::int, $9 FROM moved
ON CONFLICT (workspace, name, slot) DO UPDATE SET
    number = excluded.number, at = excluded.at, message_id = excluded.message_id,
    type = excluded.type, attempt = excluded.attempt, status = excluded.status,
    error = excluded.error, duration_ms = excluded.duration_ms, response = excluded.response
RETURNING number
