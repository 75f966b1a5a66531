-- no parameters
SELECT coalesce(sum(deliveries), 0)::bigint AS deliveries, coalesce(sum(failures), 0)::bigint AS failures,
       count(failing_since) AS failing
FROM write_side.webhook_cursor
