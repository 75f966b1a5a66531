-- $1 content type id, $2 seen at, $3 seen
UPDATE rendering SET created_at = $2, position = $3 WHERE content_type_id = $1
