-- A page of one type's entries in one status and language.
WITH list AS NOT MATERIALIZED (
    SELECT 3 AS filters, id AS content_type_id, :status::text AS status, :language::text AS language
    FROM read_model.content_type
    WHERE workspace = :workspace AND environment = :environment AND slug = :type_slug
)
\ir counted_list.sql
LEFT JOIN LATERAL (
    SELECT * FROM (
        SELECT id, position FROM read_model.entry
        WHERE workspace = :workspace AND environment = :environment
          AND content_type_id = list.content_type_id AND status = list.status
          AND language = list.language
          AND ~position > ~start.below
        ORDER BY ~position LIMIT :limit OFFSET :offset - start.skipped
    ) page
\ir ../rows/page_size.sql
) newest ON true
