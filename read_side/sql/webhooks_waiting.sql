-- $1 workspaces, $2 names, $3 positions of cursors
-- Endpoints that are on and have a change to deliver, and since how many seconds. A cursor that moves over changes that are
-- not selected does so every 1,000 positions, so it is enough to look at the next 2,000 changes.
SELECT webhook.workspace, webhook.name,
       greatest(extract(epoch FROM clock_timestamp() - oldest.at), 0)::float8 AS seconds
FROM read_model.webhook
LEFT JOIN unnest($1::text[], $2::text[], $3::bigint[]) AS cursor (workspace, name, position)
    USING (workspace, name)
CROSS JOIN LATERAL (
    SELECT next.at
    FROM (
        SELECT position, at, kind, content_type FROM read_model.change
        WHERE change.workspace = webhook.workspace AND change.environment = webhook.environment
          AND change.position > coalesce(cursor.position, webhook.position)
        ORDER BY position LIMIT 2000
    ) next
    WHERE (webhook.types = '{}' OR next.content_type = ANY (webhook.types))
      AND (webhook.events = '{}' OR next.kind = ANY (webhook.events))
    ORDER BY next.position LIMIT 1
) oldest
WHERE webhook.off IS NULL
