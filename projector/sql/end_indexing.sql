-- $1 content type id
DELETE FROM indexing WHERE content_type_id = $1
