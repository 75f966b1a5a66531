-- A page of one type's entries in one status and language.
SELECT t.id AS type_id, coalesce(c.n, 0) AS total, newest.*
FROM read_model.content_type t
LEFT JOIN read_model.entry_count c
    ON c.workspace = :workspace AND c.environment = :environment AND c.content_type_id = t.id
   AND c.status = :status AND c.language = :language
LEFT JOIN LATERAL (
    SELECT * FROM (
        SELECT id, created_at, position FROM read_model.entry
        WHERE workspace = :workspace AND environment = :environment AND content_type_id = t.id
          AND status = :status AND language = :language
        ORDER BY created_at DESC, position DESC LIMIT :limit OFFSET :offset
    ) page
\ir ../rows/page_size.sql
) newest ON true
WHERE t.workspace = :workspace AND t.environment = :environment AND t.slug = :type_slug
