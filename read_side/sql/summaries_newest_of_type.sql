-- $1 workspace, $2 environment, $3 limit, $4 offset, $5 type_slug, $6 locale
WITH page AS (
\ir pages/newest_of_type.sql
)
\ir rows/summaries.sql
