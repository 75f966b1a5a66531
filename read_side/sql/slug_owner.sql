-- $1 workspace, $2 environment, $3 type_slug, $4 language, $5 slug_hash, $6 at
-- The content type and the entry that had the slugs at that time: either they still have them, or they
-- released them later. If several match because the clocks of machines differ, the last one in the log.
SELECT t.id::text AS type_id, e.id::text
FROM (
\ir past/type.sql
) AS t
LEFT JOIN LATERAL (
    SELECT h.id, NULL::bigint AS position FROM read_model.entry h
    WHERE h.workspace = $1 AND h.environment = $2 AND h.content_type_id = t.id AND h.language = $4
      AND h.slug_hash = $5 AND h.slug_since <= $6
    UNION ALL
    SELECT p.id, p.position FROM read_model.past_slug p
    WHERE p.workspace = $1 AND p.content_type_id = t.id AND p.language = $4
      AND p.slug_hash = $5 AND p.since <= $6 AND p.until > $6
    ORDER BY position DESC NULLS FIRST LIMIT 1
) AS e ON true
