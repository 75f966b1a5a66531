-- $1 workspace, $2 environment, $3 status or null
SELECT
\ir rows/stamp.sql
locale AS code, sum(n)::bigint AS total FROM read_model.locale_count
WHERE workspace = $1 AND environment = $2 AND ($3::text IS NULL OR status = $3)
GROUP BY locale ORDER BY locale
