-- $1 workspaces, $2 environments, $3 locales, $4 statuses, $5 changes
MERGE INTO locale_count AS c
USING unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[]) AS d(workspace, environment, locale, status, n)
ON (c.workspace, c.environment, c.locale, c.status) = (d.workspace, d.environment, d.locale, d.status)
WHEN MATCHED AND c.n + d.n = 0 THEN DELETE
WHEN MATCHED THEN UPDATE SET n = c.n + d.n
WHEN NOT MATCHED THEN INSERT VALUES (d.workspace, d.environment, d.locale, d.status, d.n)
