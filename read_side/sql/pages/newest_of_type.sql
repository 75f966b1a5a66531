-- A page of one type's entries in every status and language.
WITH list AS NOT MATERIALIZED (
    SELECT 1 AS filters, id AS content_type_id, '' AS status, '' AS language
    FROM read_model.content_type
    WHERE workspace = :workspace AND environment = :environment AND slug = :type_slug
)
\ir counted_list.sql
LEFT JOIN LATERAL (
    SELECT * FROM (
        SELECT id, position FROM read_model.entry
        WHERE workspace = :workspace AND environment = :environment
          AND content_type_id = list.content_type_id
          AND -position > -start.below
        ORDER BY -position LIMIT :limit OFFSET :offset - start.skipped
    ) page
\ir ../rows/page_size.sql
) newest ON true
