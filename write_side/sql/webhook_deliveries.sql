-- $1 workspace, $2 name, $3 outcome: delivered, failed, 3xx, 4xx, 5xx, none (no response) or empty, $4 since (null: any), $5 limit
SELECT number, at, message_id, type, attempt, status, error, duration_ms, response
FROM write_side.webhook_delivery
WHERE workspace = $1 AND name = $2 AND ($4::timestamptz IS NULL OR at >= $4)
  AND CASE $3::text
          WHEN '' THEN true
          WHEN 'delivered' THEN error IS NULL
          WHEN 'failed' THEN error IS NOT NULL
          WHEN 'none' THEN status IS NULL
          ELSE status / 100 || 'xx' = $3
      END
ORDER BY number DESC LIMIT $5
