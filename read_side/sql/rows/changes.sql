-- The rows of `page`, the row before them, and the one that the request names. LIMIT 1 forces a lookup by
-- key in every plan.
SELECT
\ir stamp.sql
       found.role, found.position, c.kind, c.published, c.content_type_id::text, c.content_type,
       c.entry_id::text, c.slug, c.former_slug, c.language, c.status, c.version, c.at, c.actor
FROM (
    SELECT 'anchor' AS role, :after::bigint AS position
    UNION ALL
    SELECT 'previous', position FROM previous
    UNION ALL
    SELECT 'page', position FROM page
) found
LEFT JOIN LATERAL (
    SELECT * FROM read_model.change
    WHERE workspace = :workspace AND environment = :environment AND position = found.position LIMIT 1
) c ON true
ORDER BY found.position
