-- $1 ids
-- Of content types that exist, and of those that were removed.
SELECT id::text, slug FROM content_type WHERE id = ANY ($1::uuid[])
UNION ALL
SELECT id::text, slug FROM past_type WHERE id = ANY ($1::uuid[])
