-- $1 workspace, $2 environment, $3 limit, $4 offset, $5 type_slug, $6 status, $7 language, $8 locale, $9 search, $10 most
WITH page AS (
\ir pages/search.sql
)
SELECT page.total, page.searched,
\ir rows/stamp.sql
\ir rows/summary_columns.sql
FROM page
\ir rows/entry.sql
\ir rows/translation.sql
ORDER BY page.position DESC
