-- $1 workspace, $2 environment, $3 positions
-- The ids of the entries at these positions, in this order.
SELECT e.id::text FROM unnest(:positions::bigint[]) WITH ORDINALITY AS page (position, number)
\ir rows/entry_at.sql
ORDER BY page.number
