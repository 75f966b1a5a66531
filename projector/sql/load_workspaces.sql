-- $1 slugs
SELECT slug, name, plan, environments, created_at FROM workspace WHERE slug = ANY ($1)
