-- $1 slug, $2 name
INSERT INTO workspace (slug, name) VALUES ($1, $2)
ON CONFLICT (slug) DO UPDATE SET name = excluded.name
