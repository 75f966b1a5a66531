-- $1 workspace, $2 environment, $3 type slug, $4 status, $5 language, $6 limit, $7 offset
SELECT coalesce(c.n, 0) AS total,
       e.id::text, e.title, e.slug, e.status, e.stage_id, e.stage, e.language,
       e.published_at, e.created_at, e.updated_at,
       CASE WHEN e.type_version = t.version THEN e.fields END AS fields,
       CASE WHEN e.type_version <> t.version THEN e.stored END AS stored,
       CASE WHEN e.type_version <> t.version THEN t.fields END AS type_fields,
       CASE WHEN e.type_version <> t.version THEN t.stages END AS type_stages
FROM read_model.content_type t
LEFT JOIN read_model.entry_count c
    ON c.workspace = $1 AND c.environment = $2 AND c.content_type_id = t.id
   AND c.status = $4 AND c.language = $5
LEFT JOIN LATERAL (
    SELECT * FROM read_model.entry
    WHERE workspace = $1 AND environment = $2 AND content_type_id = t.id
      AND status = $4 AND language = $5
    ORDER BY created_at DESC, position DESC LIMIT $6 OFFSET $7
) e ON true
WHERE t.workspace = $1 AND t.environment = $2 AND t.slug = $3
ORDER BY e.created_at DESC, e.position DESC
