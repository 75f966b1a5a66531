-- $1 workspace, $2 environment, $3 limit, $4 offset
SELECT i.id, i.file_name, coalesce(t.name, '') AS type_name, i.created, i.updated, i.unchanged,
       i.skipped, i.failed, i.imported_by, i.imported_at, i.reverted_at
FROM read_model.import_run i
LEFT JOIN read_model.content_type t ON (t.workspace, t.id) = (i.workspace, i.content_type_id)
WHERE i.workspace = $1 AND i.environment = $2
ORDER BY i.imported_at DESC, i.id LIMIT $3 OFFSET $4
