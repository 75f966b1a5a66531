-- no parameters
SELECT t.id::text, t.workspace, t.environment, t.slug, t.name, t.fields, t.stages, t.version,
       t.created_at, t.updated_at, i.position AS seen, i.paths
FROM indexing i JOIN content_type t
    ON (t.workspace, t.id) = (i.workspace, i.content_type_id) LIMIT 1
