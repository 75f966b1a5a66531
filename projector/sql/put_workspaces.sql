-- $1 slug, $2 name, $3 plan, $4 environments, $5 created at
INSERT INTO workspace (slug, name, plan, environments, created_at) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (slug) DO UPDATE SET
    name = excluded.name, plan = excluded.plan, environments = excluded.environments
