-- $1 workspace, $2 environment, $3 limit, $4 offset, $5 type_slug, $6 status, $7 language, $8 locale, $9 inline
WITH t AS (
\ir pages/of_status.sql
)
SELECT t.total,
\ir rows/served_columns.sql
FROM t
LEFT JOIN LATERAL (
\ir rows/of_status.sql
) e ON true
\ir rows/translation.sql
\ir rows/size.sql
ORDER BY e.place
