-- $1 content type id, $2 seen
UPDATE indexing SET position = $2 WHERE content_type_id = $1
