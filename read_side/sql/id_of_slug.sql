-- $1 workspace, $2 environment, $3 type slug, $4 language, $5 entry slug
SELECT e.id::text
FROM read_model.content_type t
LEFT JOIN read_model.entry e
    ON e.workspace = $1 AND e.environment = $2 AND e.content_type_id = t.id AND e.language = $4
   AND e.slug_hash = sha256(convert_to($5, 'UTF8'))
WHERE t.workspace = $1 AND t.environment = $2 AND t.slug = $3
