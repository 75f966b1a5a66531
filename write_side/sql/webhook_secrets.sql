-- $1 workspace, $2 name
SELECT secret FROM write_side.webhook_secret
WHERE workspace = $1 AND name = $2 AND (expires_at IS NULL OR expires_at > clock_timestamp())
ORDER BY expires_at IS NOT NULL, made_at DESC
