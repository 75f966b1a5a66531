-- $1 workspace, $2 environment, $3 limit, $4 offset, $5 locale, $6 inline
WITH page AS (
\ir pages/newest.sql
)
\ir rows/served.sql
