-- $1 workspaces, $2 names, $3 created, $4 changed at
-- An endpoint that was removed has no secret. The read model may still have it.
INSERT INTO write_side.webhook_cursor (workspace, name, created, position, changed_at)
SELECT workspace, name, created, event.notification_id, changed_at
FROM unnest($1::text[], $2::text[], $3::bigint[], $4::timestamptz[])
     AS endpoint (workspace, name, created, changed_at)
JOIN write_side.event ON originator_id = 'webhook/' || workspace AND originator_version = created
WHERE EXISTS (
    SELECT FROM write_side.webhook_secret s WHERE (s.workspace, s.name) = (endpoint.workspace, endpoint.name)
)
ORDER BY workspace, name
ON CONFLICT (workspace, name) DO UPDATE SET
    created = excluded.created,
    position = CASE WHEN webhook_cursor.created = excluded.created
                    THEN webhook_cursor.position ELSE excluded.position END,
    changed_at = excluded.changed_at,
    attempt = 0,
    failing_since = NULL,
    next_try = NULL
WHERE webhook_cursor.created < excluded.created OR webhook_cursor.changed_at < excluded.changed_at
