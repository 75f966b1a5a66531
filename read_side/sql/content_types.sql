-- $1 workspace, $2 environment
\ir rows/content_types.sql
ORDER BY slug
