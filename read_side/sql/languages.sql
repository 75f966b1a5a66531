-- $1 workspace, $2 environment, $3 status or null
SELECT
\ir rows/stamp.sql
language AS code, sum(n)::bigint AS total FROM read_model.entry_count
WHERE workspace = $1 AND environment = $2 AND filters = 3 AND level = 0 AND ($3::text IS NULL OR status = $3)
GROUP BY language ORDER BY language
