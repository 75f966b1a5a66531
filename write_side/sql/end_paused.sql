-- $1 high half of the lock's key, $2 low half, $3 seconds
-- Ends the session that holds the lock if its process is paused or cut off. An active projector sends
-- a statement every second. Sending the rows of one may take longer, so a session in the middle of a
-- statement has six times as long. Returns the process id of the session.
SELECT a.pid, pg_terminate_backend(a.pid)
FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
  AND l.classid::bigint = $1 AND l.objid::bigint = $2
  AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND (a.state LIKE 'idle%' AND a.state_change < now() - make_interval(secs => $3)
       OR a.state = 'active' AND a.wait_event_type = 'Client'
          AND a.query_start < now() - 6 * make_interval(secs => $3))
