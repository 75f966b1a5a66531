-- $1 workspaces, $2 environments, $3 locales, $4 changes
MERGE INTO locale_count AS c
USING unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) AS d(workspace, environment, locale, n)
ON (c.workspace, c.environment, c.locale) = (d.workspace, d.environment, d.locale)
WHEN MATCHED AND c.n + d.n = 0 THEN DELETE
WHEN MATCHED THEN UPDATE SET n = c.n + d.n
WHEN NOT MATCHED THEN INSERT VALUES (d.workspace, d.environment, d.locale, d.n)
