-- $1 workspaces, $2 environments, $3 ids
SELECT e.id::text, e.workspace, e.environment, e.content_type_id::text, e.slug, e.title, e.status,
       e.language, e.stage_id, e.published_at, e.created_at, e.updated_at, e.position, e.version,
       e.slug_since, coalesce(e.stored, e.fields) AS stored, e.translations
FROM unnest($1::text[], $2::text[], $3::uuid[]) AS wanted(workspace, environment, id)
JOIN entry e USING (workspace, environment, id)
WHERE e.workspace = ANY ($1::text[] COLLATE "C")
