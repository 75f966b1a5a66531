-- $1 after stream, $2 after version, $3 end of the streams, $4 last position, $5 limit, $6 bytes, $7 workspaces; null: all
-- The first event has no bytes before it, so it is read regardless of its size.
SELECT notification_id, originator_id, originator_version, topic, state, at FROM (
    SELECT *, sum(coalesce(octet_length(state), 0)) OVER (
                  ORDER BY originator_id, originator_version ROWS UNBOUNDED PRECEDING)
              - coalesce(octet_length(state), 0) AS bytes_before
    FROM (
        SELECT notification_id, originator_id, originator_version, topic, at,
\ir log/state.sql
        FROM write_side.event
        WHERE (originator_id, originator_version) > ($1, $2) AND originator_id < $3
          AND notification_id <= $4
        ORDER BY originator_id, originator_version LIMIT $5
    ) AS coming
) AS sized WHERE bytes_before < $6 ORDER BY originator_id, originator_version
