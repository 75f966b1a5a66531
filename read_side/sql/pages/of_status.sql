-- A page of one type's entries in one status and language, with all columns. The index alone tells where
-- the page begins; from there on it has the page's rows one after another.
WITH list AS NOT MATERIALIZED (
    SELECT 3 AS filters, id AS content_type_id, :status::text AS status, :language::text AS language
    FROM read_model.content_type
    WHERE workspace = :workspace AND environment = :environment AND slug = :type_slug
)
\ir counted_list.sql
LEFT JOIN LATERAL (
    SELECT position FROM read_model.entry
    WHERE workspace = :workspace AND environment = :environment
      AND content_type_id = list.content_type_id AND status = list.status
      AND language = list.language
      AND ~position > ~start.below
    ORDER BY ~position LIMIT 1 OFFSET :offset - start.skipped
) first ON true
LEFT JOIN LATERAL (
    SELECT * FROM (
        SELECT * FROM read_model.entry
        WHERE workspace = :workspace AND environment = :environment
          AND content_type_id = list.content_type_id AND status = list.status
          AND language = list.language
          AND ~position >= ~first.position
        ORDER BY ~position LIMIT :limit
    ) page
\ir ../rows/page_size.sql
) newest ON true
