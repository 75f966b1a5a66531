-- $1 workspaces, $2 names
SELECT workspace, name, created, position, attempt, deliveries, failures, failing_since,
       greatest(extract(epoch FROM next_try - clock_timestamp()), 0)::float8 AS wait
FROM write_side.webhook_cursor
JOIN unnest($1::text[], $2::text[]) AS wanted (workspace, name) USING (workspace, name)
