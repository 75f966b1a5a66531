-- $1 workspace, $2 environment, $3 limit, $4 offset, $5 type_slug, $6 status, $7 language, $8 locale, $9 inline
WITH e AS (
\ir pages/of_status.sql
)
SELECT e.total,
\ir rows/served_columns.sql
FROM e
JOIN read_model.content_type t
    ON t.workspace = :workspace AND t.environment = :environment AND t.slug = :type_slug
\ir rows/translation.sql
\ir rows/size.sql
ORDER BY e.position DESC
