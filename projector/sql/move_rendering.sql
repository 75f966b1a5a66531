-- $1 workspace, $2 content type id, $3 seen
UPDATE rendering SET position = $3 WHERE workspace = $1 AND content_type_id = $2
