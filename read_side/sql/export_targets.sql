-- $1 workspace, $2 environment, $3 ids, $4 languages, $5 type slugs; none: all types
SELECT e.id::text, e.slug, e.language, t.slug AS type_slug, namesakes.types AS types_with_slug
FROM unnest($3::uuid[]) AS wanted (id)
JOIN LATERAL (
    SELECT id, slug, slug_hash, language, content_type_id FROM read_model.entry
    WHERE workspace = $1 AND environment = $2 AND id = wanted.id LIMIT 1
) e ON e.language = ANY ($4::text[])
JOIN read_model.content_type t ON t.workspace = $1 AND t.id = e.content_type_id
CROSS JOIN LATERAL (
    SELECT array_agg(other.slug ORDER BY other.slug) AS types
    FROM read_model.content_type other
    JOIN read_model.entry n
        ON n.workspace = $1 AND n.environment = $2 AND n.content_type_id = other.id
       AND n.language = e.language AND n.slug_hash = e.slug_hash
    WHERE other.workspace = $1 AND other.environment = $2
      AND (cardinality($5::text[]) = 0 OR other.slug = ANY ($5))
) namesakes
