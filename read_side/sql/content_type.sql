-- $1 workspace, $2 environment, $3 slug
\ir rows/content_types.sql
AND slug = :slug
