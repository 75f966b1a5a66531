-- $1 workspace, $2 environment, $3 type_slug
-- The content types of an environment, or one: the numbers of their entries by status and language, and
-- the paths whose index does not have all entries yet. Fields only of one type.
SELECT
\ir rows/stamp.sql
t.id::text, t.slug, CASE WHEN :type_slug::text IS NOT NULL THEN t.fields END AS fields,
counted.statuses, counted.languages, counted.numbers,
coalesce((SELECT paths FROM read_model.indexing i
          WHERE i.workspace = :workspace AND i.content_type_id = t.id), '{}') AS incomplete
FROM read_model.content_type t
CROSS JOIN LATERAL (
    SELECT coalesce(array_agg(status), '{}') AS statuses, coalesce(array_agg(language), '{}') AS languages,
           coalesce(array_agg(n), '{}') AS numbers
    FROM read_model.entry_count
    WHERE workspace = :workspace AND environment = :environment AND filters = 3 AND level = 0
      AND content_type_id = t.id
) counted
WHERE t.workspace = :workspace AND t.environment = :environment
  AND (:type_slug::text IS NULL OR t.slug = :type_slug)
