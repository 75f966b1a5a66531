-- $1 workspace, $2 environment, $3 at, $4 types, $5 statuses, $6 languages, $7 beginnings, $8 most
-- The number of entries that were in a list at a moment as a version that has ended since; null if `most`
-- versions are near the moment.
WITH
\ir past/kinds.sql
, near AS MATERIALIZED (
    SELECT v.* FROM kinds k CROSS JOIN LATERAL (
\ir past/near.sql
    ) v
    LIMIT :most
)
SELECT CASE WHEN count(*) < :most THEN count(*) FILTER (WHERE until > :at) END AS total FROM near
