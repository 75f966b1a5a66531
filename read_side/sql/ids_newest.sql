-- $1 workspace, $2 environment, $3 limit, $4 offset
WITH page AS (
\ir pages/newest.sql
)
\ir rows/ids.sql
