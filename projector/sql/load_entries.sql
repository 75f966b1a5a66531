-- $1 workspaces, $2 environments, $3 ids
SELECT
\ir shared/entry_columns.sql
FROM unnest($1::text[], $2::text[], $3::uuid[]) AS wanted(workspace, environment, id)
JOIN entry e USING (workspace, environment, id)
WHERE e.workspace = ANY ($1::text[] COLLATE "C")
