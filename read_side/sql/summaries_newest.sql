-- $1 workspace, $2 environment, $3 limit, $4 offset, $5 locale
WITH page AS (
\ir pages/newest.sql
)
\ir rows/summaries.sql
