-- $1 workspace, $2 environment, $3 type_slug, $4 at
-- The combinations of type, status and language of the versions that have ended, of the type that had the
-- slug at that time, or of all; a type without such versions has a row too. `has_changed`: the type was
-- there, and was revised or removed since. No row if no type had the slug.
WITH RECURSIVE asked AS MATERIALIZED (
    SELECT '00000000-0000-0000-0000-000000000000'::uuid AS first, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid AS last
    WHERE :type_slug::text IS NULL
    UNION ALL
    SELECT id, id FROM (
\ir past/type.sql
    ) AS t
), ended AS (
    -- Each step skips the versions of one combination.
    SELECT * FROM (
        SELECT v.content_type_id, v.status, v.language FROM read_model.past_version v
        WHERE v.workspace = :workspace AND v.environment = :environment
          AND v.content_type_id >= (SELECT first FROM asked) AND v.content_type_id <= (SELECT last FROM asked)
        ORDER BY v.content_type_id, v.status, v.language LIMIT 1
    ) AS least
    UNION ALL
    SELECT next.* FROM ended CROSS JOIN LATERAL (
        SELECT v.content_type_id, v.status, v.language FROM read_model.past_version v
        WHERE v.workspace = :workspace AND v.environment = :environment
          AND (v.content_type_id, v.status, v.language)
            > (ended.content_type_id, ended.status, ended.language)
          AND v.content_type_id <= (SELECT last FROM asked)
        ORDER BY v.content_type_id, v.status, v.language LIMIT 1
    ) AS next
), types AS (
    SELECT c.id, c.slug, c.stages, c.created_at <= :at AND c.updated_at > :at AS has_changed FROM read_model.content_type c
    WHERE c.workspace = :workspace AND c.environment = :environment
    UNION ALL
    SELECT p.id, p.slug, NULL, p.since <= :at AND p.until > :at FROM read_model.past_type p
    WHERE p.workspace = :workspace AND p.environment = :environment
)
SELECT types.id::text AS type_id, types.slug, ended.status, ended.language, types.stages, types.has_changed
FROM asked
LEFT JOIN types ON types.id >= asked.first AND types.id <= asked.last
LEFT JOIN ended ON ended.content_type_id = types.id
