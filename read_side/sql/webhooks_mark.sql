-- no parameters
SELECT count(*) AS endpoints, coalesce(max(position), 0) AS position
FROM read_model.webhook
