-- no parameters
SELECT count(*) AS endpoints, count(off) AS off, coalesce(max(position), 0) AS position
FROM read_model.webhook
