-- $1 workspace, $2 environment, $3 limit, $4 offset, $5 type_slug, $6 status, $7 language, $8 locale, $9 inline
WITH shown AS MATERIALIZED (SELECT to_json(:locale::text)::text AS locale),
listed AS NOT MATERIALIZED (
\ir list_selected.sql
)
\ir rows/json_of_any_type.sql
