-- The columns served of entry e of type t, with the texts of l if it has any. `stale` is set if the entry
-- was rendered under an older version of its type, or not at all in this locale. The reader then renders
-- it from these values.
-- An entry larger than :inline has neither title nor values; its size is known without reading them.
\ir stamp.sql
e.id::text, CASE WHEN served.size <= :inline THEN coalesce(l.title, e.title) END AS title, e.slug,
e.status, e.stage, e.language, e.published_at, e.created_at, e.updated_at, served.size,
CASE WHEN e.type_version = t.version AND l.texts IS NULL AND served.size <= :inline
    THEN coalesce(l.fields, e.fields) END AS fields,
CASE WHEN (e.type_version <> t.version OR l.texts IS NOT NULL) AND served.size <= :inline THEN json_build_object(
    'values', coalesce(e.stored, e.fields)::json, 'texts', l.texts::json,
    'translations', CASE WHEN l.texts IS NULL THEN e.translations END, 'stage_id', e.stage_id,
    'type_fields', t.fields, 'type_stages', t.stages) END AS stale
