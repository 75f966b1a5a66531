-- $1 id, $2 workspace, $3 environment, $4 content type id, $5 file name, $6 created, $7 updated, $8 skipped, $9 imported at
INSERT INTO import_run
    (id, workspace, environment, content_type_id, file_name, created, updated, skipped, imported_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
