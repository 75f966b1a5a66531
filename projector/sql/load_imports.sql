-- $1 ids
SELECT id, workspace, environment, content_type_id::text, file_name, created, updated, unchanged,
       skipped, failed, imported_by, imported_at, reverted_at
FROM import_run WHERE id = ANY ($1)
