-- $1 after position, $2 limit, $3 bytes, $4 stream; null: all, $5 workspaces; null: all
-- The first event has no bytes before it, so it is read regardless of its size. One of the two branches
-- runs: a stream is read by its index, the log by its positions.
SELECT notification_id, originator_id, originator_version, topic, state, at FROM (
    SELECT *, sum(coalesce(octet_length(state), 0)) OVER (ORDER BY notification_id ROWS UNBOUNDED PRECEDING)
              - coalesce(octet_length(state), 0) AS bytes_before
    FROM (
        (SELECT notification_id, originator_id, originator_version, topic, at,
\ir log/state.sql
         FROM write_side.event WHERE $4::text IS NULL AND notification_id > $1
         ORDER BY notification_id LIMIT $2)
        UNION ALL
        (SELECT notification_id, originator_id, originator_version, topic, at,
\ir log/state.sql
         FROM write_side.event WHERE $4::text IS NOT NULL AND originator_id = $4 AND notification_id > $1
         ORDER BY notification_id LIMIT $2)
    ) AS coming
) AS sized WHERE bytes_before < $3 ORDER BY notification_id
