-- $1 workspace, $2 content type id
DELETE FROM indexing WHERE workspace = $1 AND content_type_id = $2
