-- $1 content type id
DELETE FROM rendering WHERE content_type_id = $1
