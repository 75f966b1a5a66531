-- $1 workspace, $2 environment, $3 field slugs, $4 type_slug
-- The fields with these slugs of every content type, and a row without a field for the type itself.
SELECT
\ir rows/stamp.sql
t.slug AS type_slug, named.field
FROM read_model.content_type t
LEFT JOIN LATERAL (
    SELECT value::text AS field FROM json_array_elements(t.fields) WHERE value ->> 'slug' = ANY ($3)
) named ON true
WHERE t.workspace = $1 AND t.environment = $2 AND (named.field IS NOT NULL OR t.slug = $4)
ORDER BY t.slug
