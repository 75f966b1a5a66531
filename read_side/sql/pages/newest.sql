-- A page of all entries of an environment.
WITH list AS NOT MATERIALIZED (
    SELECT 0 AS filters, '00000000-0000-0000-0000-000000000000'::uuid AS content_type_id,
           '' AS status, '' AS language
)
\ir counted_list.sql
LEFT JOIN LATERAL (
    SELECT * FROM (
        SELECT id, position FROM read_model.entry
        WHERE workspace = :workspace AND environment = :environment
          AND position < start.below
        ORDER BY position DESC LIMIT :limit OFFSET :offset - start.skipped
    ) page
\ir ../rows/page_size.sql
) newest ON true
