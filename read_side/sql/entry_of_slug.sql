-- $1 workspace, $2 environment, $3 type_slug, $4 language, $5 slug_hash, $6 inline
SELECT
\ir rows/type_columns.sql
\ir rows/served_columns.sql
\ir rows/of_slug.sql
\ir rows/original.sql
\ir rows/size.sql
WHERE t.workspace = :workspace AND t.environment = :environment AND t.slug = :type_slug
