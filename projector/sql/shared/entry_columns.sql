-- The columns from which stored_rows.py makes the state of an entry.
e.id::text, e.workspace, e.environment, e.content_type_id::text, e.slug, e.title, e.status,
e.language, e.stage_id, e.published_at, e.created_at, e.updated_at, e.position, e.version,
e.slug_since, coalesce(e.stored, e.fields) AS stored, e.translations
