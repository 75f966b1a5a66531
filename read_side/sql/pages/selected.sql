-- A page of the entries of a type, status or language; a filter that is null matches all entries. For
-- each matching combination of the three, an index scan over narrow keys reads the first entries. The
-- page is merged from these.
WITH types AS (
    SELECT id FROM read_model.content_type
    WHERE workspace = :workspace AND environment = :environment
      AND (:type_slug::text IS NULL OR slug = :type_slug)
), selected AS MATERIALIZED (
    SELECT c.content_type_id, c.status, c.language, c.n
    FROM read_model.entry_count c JOIN types t ON t.id = c.content_type_id
    WHERE c.workspace = :workspace AND c.environment = :environment AND c.n > 0
      AND (:status::text IS NULL OR c.status = :status)
      AND (:language::text IS NULL OR c.language = :language)
), merged AS (
    SELECT e.id, e.created_at, e.position FROM selected s
    CROSS JOIN LATERAL (
        SELECT id, created_at, position FROM read_model.entry
        WHERE workspace = :workspace AND environment = :environment
          AND content_type_id = s.content_type_id AND status = s.status AND language = s.language
        ORDER BY created_at DESC, position DESC LIMIT :limit::bigint + :offset::bigint
    ) e
    ORDER BY e.created_at DESC, e.position DESC LIMIT :limit OFFSET :offset
)
SELECT (SELECT coalesce(sum(n), 0)::bigint FROM selected) AS total, merged.*
FROM (SELECT FROM types LIMIT 1) known
LEFT JOIN merged ON true
\ir ../rows/page_size.sql
