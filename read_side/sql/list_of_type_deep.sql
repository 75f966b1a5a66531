-- $1 workspace, $2 environment, $3 limit, $4 offset, $5 type_slug, $6 status, $7 language, $8 inline
-- For deep offsets: skips narrow keys of the index, then fetches the rows of the page.
WITH page AS (
\ir pages/of_status.sql
)
SELECT page.total,
\ir rows/served_columns.sql
FROM page
JOIN read_model.content_type t ON t.id = page.type_id
\ir rows/entry.sql
\ir rows/original.sql
\ir rows/size.sql
ORDER BY page.created_at DESC, page.position DESC
