-- $1 workspaces, $2 environments, $3 locales, $4 statuses, $5 changes
-- A count of 0 has no row, so that the rows do not depend on how the log was batched.
DELETE FROM locale_count c
USING unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[])
    AS d (workspace, environment, locale, status, n)
WHERE (c.workspace, c.environment, c.locale, c.status) = (d.workspace, d.environment, d.locale, d.status)
  AND c.n + d.n = 0 AND c.workspace = ANY ($1::text[] COLLATE "C")
