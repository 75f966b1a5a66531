-- $1 workspace, $2 environment, $3 type slugs (null for all), $4 field types, $5 limit
SELECT DISTINCT value ->> 'slug' AS slug
FROM read_model.content_type t CROSS JOIN LATERAL json_array_elements(t.fields)
WHERE t.workspace = $1 AND t.environment = $2 AND ($3::text[] IS NULL OR t.slug = ANY ($3))
  AND value ->> 'type' = ANY ($4)
ORDER BY slug LIMIT $5
