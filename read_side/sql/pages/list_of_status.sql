-- The list of one type, status and language, and what its entries need of their type.
SELECT 3 AS filters, id AS content_type_id, :status::text AS status, :language::text AS language,
       version, fields, stages
FROM read_model.content_type
WHERE workspace = :workspace AND environment = :environment AND slug = :type_slug
