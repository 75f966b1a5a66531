-- $1 id, $2 file name, $3 created, $4 updated, $5 unchanged, $6 skipped, $7 failed, $8 imported by, $9 imported at, $10 reverted at, $11 workspace, $12 environment, $13 content type id
INSERT INTO import_run
    (id, file_name, created, updated, unchanged, skipped, failed, imported_by, imported_at,
     reverted_at, workspace, environment, content_type_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
ON CONFLICT (id, workspace) DO UPDATE SET reverted_at = excluded.reverted_at
