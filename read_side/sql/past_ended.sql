-- $1 workspace, $2 environment, $3 at, $4 types, $5 statuses, $6 languages, $7 beginnings, $8 most, $9 title_part, $10 slug_part
-- The versions that have ended, of the entries that were in a list at a moment, with their built-in values.
-- Only those whose title contains title_part and whose slug contains slug_part (null: any text), regardless of
-- case as in query/checked.sql.
WITH
\ir past/kinds.sql
, near AS MATERIALIZED (
    SELECT k.*, v.position, v.until FROM kinds k CROSS JOIN LATERAL (
\ir past/near.sql
    ) v
    LIMIT :most
)
SELECT counts.read, v.*
FROM (SELECT count(*) AS read FROM near) counts
LEFT JOIN (
    SELECT near.kind, near.position, v.id::text, v.version, v.title, v.slug, v.stage_id, v.created_at,
           v.updated_at, v.published_at
    FROM near
    CROSS JOIN LATERAL (
        SELECT * FROM read_model.past_version
        WHERE workspace = :workspace AND environment = :environment
          AND content_type_id = near.content_type_id AND status = near.status AND language = near.language
          AND position = near.position AND until = near.until
        LIMIT 1
    ) v
    WHERE near.until > :at
      AND (:title_part::text IS NULL
           OR position(replace(lower(:title_part), 'ς', 'σ') IN replace(lower(v.title), 'ς', 'σ')) > 0)
      AND (:slug_part::text IS NULL
           OR position(replace(lower(:slug_part), 'ς', 'σ') IN replace(lower(v.slug), 'ς', 'σ')) > 0)
) v ON true
