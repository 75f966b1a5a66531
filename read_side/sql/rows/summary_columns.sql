e.id::text, e.content_type_id::text AS type_id, e.title, l.title AS translated, e.slug, e.status,
e.stage_id, e.language, e.created_at, e.updated_at, e.published_at
