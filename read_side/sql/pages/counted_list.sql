-- The number of entries in `list`, and where the page of `newest` begins in it.
SELECT coalesce(counted.n, 0) AS total, list.*, newest.*
FROM list
\ir total.sql
LEFT JOIN LATERAL (
\ir start.sql
) start ON true
