-- $1 workspace, $2 environment, $3 limit, $4 offset, $5 type_slug, $6 status, $7 language, $8 locale, $9 inline
WITH page AS (
\ir pages/selected.sql
)
\ir rows/served.sql
