-- $1 workspace, $2 environment, $3 ids, $4 locale
SELECT e.id::text, coalesce(l.title, e.title) AS title, e.status,
       CASE WHEN l.title <> e.title THEN :locale ELSE e.language END AS language
FROM unnest(:ids::uuid[]) AS page (id)
\ir rows/entry.sql
\ir rows/translation.sql
WHERE e.id IS NOT NULL
