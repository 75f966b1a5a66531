-- $1 workspace, $2 environment, $3 type_slug, $4 language, $5 slug_hash
SELECT e.id::text
\ir rows/of_slug.sql
WHERE t.workspace = :workspace AND t.environment = :environment AND t.slug = :type_slug
