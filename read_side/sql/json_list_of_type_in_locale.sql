-- $1 workspace, $2 environment, $3 limit, $4 offset, $5 type_slug, $6 status, $7 language, $8 locale, $9 inline
WITH shown AS NOT MATERIALIZED (SELECT :locale::text AS locale),
listed AS NOT MATERIALIZED (
\ir list_of_type_in_locale.sql
)
\ir rows/json_of_type.sql
