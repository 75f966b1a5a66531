-- no parameters
SELECT t.id::text, t.workspace, t.environment, t.slug, t.name, t.fields, t.stages, t.version,
       t.created_at, t.updated_at, r.position AS seen
FROM rendering r JOIN content_type t
    ON (t.workspace, t.id) = (r.workspace, r.content_type_id) LIMIT 1
