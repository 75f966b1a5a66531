-- $1 workspaces, $2 ids
-- Of content types that exist, and of those that were removed.
SELECT id::text, slug
FROM content_type JOIN unnest($1::text[], $2::uuid[]) AS wanted (workspace, id) USING (workspace, id)
UNION ALL
SELECT id::text, slug
FROM past_type JOIN unnest($1::text[], $2::uuid[]) AS wanted (workspace, id) USING (workspace, id)
