-- $1 workspaces, $2 environments, $3 content type ids, $4 statuses, $5 languages, $6 changes
-- What comes to nothing leaves no row, so that the rows are the same however the log was batched.
WITH change AS (
    SELECT * FROM unnest($1::text[], $2::text[], $3::uuid[], $4::text[], $5::text[], $6::bigint[])
        AS d(workspace, environment, content_type_id, status, language, n)
), changed AS (
    UPDATE entry_count c SET n = c.n + d.n FROM change d
    WHERE (c.workspace, c.environment, c.content_type_id, c.status, c.language)
        = (d.workspace, d.environment, d.content_type_id, d.status, d.language)
      AND c.n + d.n <> 0
    RETURNING c.workspace, c.environment, c.content_type_id, c.status, c.language
), gone AS (
    DELETE FROM entry_count c USING change d
    WHERE (c.workspace, c.environment, c.content_type_id, c.status, c.language)
        = (d.workspace, d.environment, d.content_type_id, d.status, d.language)
      AND c.n + d.n = 0
    RETURNING c.workspace, c.environment, c.content_type_id, c.status, c.language
)
INSERT INTO entry_count (workspace, environment, content_type_id, status, language, n)
SELECT d.* FROM change d
WHERE (d.workspace, d.environment, d.content_type_id, d.status, d.language)
    NOT IN (SELECT * FROM changed UNION ALL SELECT * FROM gone)
