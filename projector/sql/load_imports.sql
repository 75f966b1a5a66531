-- $1 workspaces, $2 ids
SELECT id, workspace, environment, content_type_id::text, file_name, created, updated, unchanged,
       skipped, failed, imported_by, imported_at, reverted_at
FROM import_run JOIN unnest($1::text[], $2::text[]) AS wanted (workspace, id) USING (workspace, id)
