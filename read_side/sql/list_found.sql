-- $1 workspace, $2 environment, $3 positions, $4 locale, $5 inline
-- The entries at these positions, in this order, without those that were deleted.
SELECT
\ir rows/type_columns.sql
\ir rows/served_columns.sql
FROM unnest(:positions::bigint[]) WITH ORDINALITY AS page (position, number)
\ir rows/entry_at.sql
JOIN read_model.content_type t
    ON t.workspace = :workspace AND t.environment = :environment AND t.id = e.content_type_id
\ir rows/translation.sql
\ir rows/size.sql
ORDER BY page.number
