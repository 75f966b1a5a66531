-- $1 workspace, $2 content type id
DELETE FROM rendering WHERE workspace = $1 AND content_type_id = $2
