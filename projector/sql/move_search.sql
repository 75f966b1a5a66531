-- $1 workspaces, $2 environments, $3 positions, $4 locales, $5 statuses
-- No index has the status, so none is written where the row's page has space.
UPDATE entry_search s SET status = moved.status
FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[])
    AS moved (workspace, environment, position, locale, status)
WHERE (s.workspace, s.environment, s.position, s.locale)
    = (moved.workspace, moved.environment, moved.position, moved.locale)
  AND s.workspace = ANY ($1::text[] COLLATE "C")
