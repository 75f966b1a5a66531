-- $1 workspace, $2 environment, $3 at, $4 through, $5 types, $6 statuses, $7 languages, $8 beginnings, $9 share, $10 wanted
-- The newest entries up to position `through` that were in a list at a moment as a version that has ended
-- since. Of each combination of type, status and language, those near the moment are read (`near`); if they
-- are more than `share`, its entries are walked, newest first (`walked`). If these are more too, the
-- list is known down to the entry at `horizon`.
WITH
\ir past/kinds.sql
, near AS MATERIALIZED (
    SELECT k.kind, v.* FROM kinds k CROSS JOIN LATERAL (
\ir past/near.sql
        LIMIT :share
    ) v
), many AS MATERIALIZED (
    SELECT kind FROM near GROUP BY kind HAVING count(*) >= :share
), walked AS MATERIALIZED (
    SELECT k.kind, v.* FROM kinds k CROSS JOIN LATERAL (
        -- The entries of a combination, newest first, each with its version that ended next. Each step
        -- skips the versions of one entry.
        WITH RECURSIVE walk AS (
            SELECT max(position) AS position FROM read_model.past_version
            WHERE workspace = :workspace AND environment = :environment
              AND content_type_id = k.content_type_id AND status = k.status AND language = k.language
              AND position <= :through
            UNION ALL
            SELECT (
                SELECT max(position) FROM read_model.past_version
                WHERE workspace = :workspace AND environment = :environment
                  AND content_type_id = k.content_type_id AND status = k.status AND language = k.language
                  AND position < walk.position)
            FROM walk WHERE walk.position IS NOT NULL
        )
        SELECT walk.position, next.until, next.updated_at FROM walk
        LEFT JOIN LATERAL (
            SELECT until, updated_at FROM read_model.past_version
            WHERE workspace = :workspace AND environment = :environment
              AND content_type_id = k.content_type_id AND status = k.status AND language = k.language
              AND position = walk.position AND until > :at
            ORDER BY until LIMIT 1
        ) next ON true
        WHERE walk.position IS NOT NULL
        LIMIT :share
    ) v
    WHERE k.kind IN (SELECT kind FROM many)
), horizon AS MATERIALIZED (
    SELECT coalesce(max(lowest), 0) AS position FROM (
        SELECT min(position) AS lowest FROM walked GROUP BY kind HAVING count(*) >= :share
    ) reached
), found AS MATERIALIZED (
    SELECT kind, position, until FROM near
    WHERE until > :at AND position <= :through AND kind NOT IN (SELECT kind FROM many)
    UNION ALL
    SELECT kind, position, until FROM walked WHERE updated_at <= :at
), page AS MATERIALIZED (
    SELECT * FROM found WHERE position >= (SELECT position FROM horizon)
    ORDER BY position DESC LIMIT :wanted
)
SELECT counts.*, page.position, v.id::text, v.version, k.content_type_id::text AS type_id
FROM (
    SELECT (SELECT count(*) FROM page) AS found, (SELECT position FROM horizon) AS horizon
) counts
LEFT JOIN page ON true
LEFT JOIN kinds k ON k.kind = page.kind
LEFT JOIN LATERAL (
    SELECT id, version FROM read_model.past_version
    WHERE workspace = :workspace AND environment = :environment
      AND content_type_id = k.content_type_id AND status = k.status AND language = k.language
      AND position = page.position AND until = page.until
    LIMIT 1
) v ON true
ORDER BY page.position DESC
