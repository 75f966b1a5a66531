-- $1 workspace, $2 environment, $3 ids
-- Where the entries with these ids are.
SELECT e.id::text, e.position, e.content_type_id::text AS type_id, e.status, e.language
FROM unnest(:ids::uuid[]) AS page (id)
\ir rows/entry.sql
WHERE e.id IS NOT NULL
