-- A page of all entries of an environment.
SELECT totals.total, newest.*
FROM (
    SELECT coalesce(sum(n), 0)::bigint AS total FROM read_model.entry_count
    WHERE workspace = :workspace AND environment = :environment
) totals
LEFT JOIN LATERAL (
    SELECT * FROM (
        SELECT id, created_at, position FROM read_model.entry
        WHERE workspace = :workspace AND environment = :environment
        ORDER BY created_at DESC, position DESC LIMIT :limit OFFSET :offset
    ) page
\ir ../rows/page_size.sql
) newest ON true
