-- $1 id, $2 workspace, $3 environment, $4 content type id, $5 file name, $6 created, $7 updated, $8 unchanged, $9 skipped, $10 failed, $11 imported by, $12 imported at, $13 reverted at
INSERT INTO import_run
    (id, workspace, environment, content_type_id, file_name, created, updated, unchanged, skipped,
     failed, imported_by, imported_at, reverted_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
ON CONFLICT (id, workspace) DO UPDATE SET reverted_at = excluded.reverted_at
