-- $1 workspace, $2 environment, $3 ids
\ir rows/content_types.sql
AND id = ANY (:ids::uuid[])
