-- $1 workspaces, $2 names, $3 created, $4 after, $5 positions, $6 delivered, $7 delays, $8 message ids, $9 types, $10 attempts, $11 statuses, $12 errors, $13 durations, $14 responses, $15 kept
WITH outcome AS (
    SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[],
                         $6::boolean[], $7::float8[], $8::text[], $9::text[], $10::int[], $11::int[],
                         $12::text[], $13::int[], $14::text[])
        AS o (workspace, name, created, after, position, delivered, delay, message_id, type, attempt,
              status, error, duration_ms, response)
), moved AS (
    -- Unless the cursor was moved meanwhile, by a replay or by another process.
    UPDATE write_side.webhook_cursor c SET
        position = o.position,
        deliveries = deliveries + 1,
        failures = failures + (NOT delivered)::int,
        attempt = CASE WHEN delivered THEN 0 ELSE o.attempt END,
        failing_since = CASE WHEN NOT delivered THEN coalesce(failing_since, clock_timestamp()) END,
        next_try = CASE WHEN NOT delivered THEN clock_timestamp() + delay * interval '1 s' END
    FROM outcome o
    WHERE (c.workspace, c.name, c.created, c.position) = (o.workspace, o.name, o.created, o.after)
    RETURNING c.workspace, c.name, deliveries, failing_since
), kept AS (
    INSERT INTO write_side.webhook_delivery
        (workspace, name, slot, number, message_id, type, attempt, status, error, duration_ms, response)
    SELECT workspace, name, deliveries % $15, deliveries, message_id, type, attempt, status, error,
           duration_ms, response
    FROM moved JOIN outcome USING (workspace, name)
    ON CONFLICT (workspace, name, slot) DO UPDATE SET
        number = excluded.number, at = excluded.at, message_id = excluded.message_id,
        type = excluded.type, attempt = excluded.attempt, status = excluded.status,
        error = excluded.error, duration_ms = excluded.duration_ms, response = excluded.response
)
SELECT workspace, name,
       coalesce(extract(epoch FROM clock_timestamp() - failing_since), 0)::float8 AS failing
FROM moved
