-- A page of one type's entries in every status and language.
SELECT t.id AS type_id, totals.total, newest.*
FROM read_model.content_type t
CROSS JOIN LATERAL (
    SELECT coalesce(sum(n), 0)::bigint AS total FROM read_model.entry_count
    WHERE workspace = :workspace AND environment = :environment AND content_type_id = t.id
) totals
LEFT JOIN LATERAL (
    SELECT * FROM (
        SELECT id, created_at, position FROM read_model.entry
        WHERE workspace = :workspace AND environment = :environment AND content_type_id = t.id
        ORDER BY created_at DESC, position DESC LIMIT :limit OFFSET :offset
    ) page
\ir ../rows/page_size.sql
) newest ON true
WHERE t.workspace = :workspace AND t.environment = :environment AND t.slug = :type_slug
