-- $1 workspace, $2 environment, $3 limit, $4 offset, $5 type_slug, $6 status, $7 language, $8 inline
WITH t AS (
\ir pages/of_status.sql
), shown AS MATERIALIZED (SELECT to_json(:language::text)::text AS language, to_json(:language::text)::text AS locale)
\ir rows/json_of_type_begin.sql
\ir rows/of_status.sql
) e
\ir rows/original.sql
\ir rows/json_of_type_end.sql
