-- $1 the lock of the active process
SELECT coalesce(sum(deliveries), 0)::bigint AS deliveries, coalesce(sum(failures), 0)::bigint AS failures,
       EXISTS (
           SELECT FROM pg_locks
           WHERE locktype = 'advisory' AND granted AND objsubid = 1
             AND classid = ($1::bigint >> 32)::oid AND objid = ($1::bigint & 4294967295)::oid
             AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
       ) AS active
FROM write_side.webhook_cursor
