-- $1 workspaces, $2 environments, $3 content type ids, $4 statuses, $5 languages, $6 changes
-- A count of 0 has no row, so that the rows do not depend on how the log was batched.
MERGE INTO entry_count AS c
USING unnest($1::text[], $2::text[], $3::uuid[], $4::text[], $5::text[], $6::bigint[])
    AS d(workspace, environment, content_type_id, status, language, n)
ON (c.workspace, c.environment, c.content_type_id, c.status, c.language)
 = (d.workspace, d.environment, d.content_type_id, d.status, d.language)
WHEN MATCHED AND c.n + d.n = 0 THEN DELETE
WHEN MATCHED THEN UPDATE SET n = c.n + d.n
WHEN NOT MATCHED THEN
    INSERT VALUES (d.workspace, d.environment, d.content_type_id, d.status, d.language, d.n)
