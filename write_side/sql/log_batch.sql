-- $1 after position, $2 limit, $3 bytes
-- The first event has no bytes before it, so it is read whatever its size.
SELECT notification_id, originator_id, originator_version, topic, state FROM (
    SELECT *, sum(octet_length(state)) OVER (ORDER BY notification_id ROWS UNBOUNDED PRECEDING)
              - octet_length(state) AS bytes_before
    FROM (
        SELECT notification_id, originator_id, originator_version, topic, state
        FROM write_side.event WHERE notification_id > $1 ORDER BY notification_id LIMIT $2
    ) AS coming
) AS sized WHERE bytes_before < $3 ORDER BY notification_id
