-- $1 ids
WITH renderings AS (DELETE FROM rendering WHERE content_type_id = ANY ($1::uuid[])),
     incomplete AS (DELETE FROM indexing WHERE content_type_id = ANY ($1::uuid[]))
DELETE FROM content_type WHERE id = ANY ($1::uuid[])
