-- $1 workspace, $2 environment, $3 limit, $4 offset, $5 type_slug, $6 status, $7 language, $8 inline
WITH shown AS NOT MATERIALIZED (SELECT :language::text AS locale),
listed AS NOT MATERIALIZED (
\ir list_of_type.sql
)
\ir rows/json_of_type.sql
