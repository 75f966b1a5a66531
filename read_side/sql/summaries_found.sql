-- $1 workspace, $2 environment, $3 positions, $4 locale
-- The entries at these positions, in this order, without those that were deleted.
SELECT
\ir rows/summary_columns.sql
FROM unnest(:positions::bigint[]) WITH ORDINALITY AS page (position, number)
\ir rows/entry_at.sql
\ir rows/translation.sql
WHERE e.id IS NOT NULL
ORDER BY page.number
