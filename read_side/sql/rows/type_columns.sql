t.id::text AS type_id, t.name AS type_name, t.slug AS type_slug, e.version,
