-- $1 workspaces, $2 environments, $3 locales, $4 statuses, $5 changes
INSERT INTO locale_count AS c (workspace, environment, locale, status, n)
SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[])
ON CONFLICT (workspace, environment, locale, status) DO UPDATE SET n = c.n + excluded.n
