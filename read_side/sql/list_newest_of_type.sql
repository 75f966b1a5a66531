-- $1 workspace, $2 environment, $3 limit, $4 offset, $5 type_slug, $6 locale, $7 inline
-- As rows/served.sql, but all entries are of one type, which is looked up once.
WITH page AS (
\ir pages/newest_of_type.sql
)
SELECT page.total,
\ir rows/type_columns.sql
\ir rows/served_columns.sql
FROM page
JOIN read_model.content_type t
    ON t.workspace = :workspace AND t.environment = :environment AND t.slug = :type_slug
\ir rows/entry.sql
\ir rows/translation.sql
\ir rows/size.sql
ORDER BY page.position DESC
