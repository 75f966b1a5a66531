-- A page of the entries of a type, status or language; a filter that is null matches all entries. For
-- each matching combination of the three, an index scan over narrow keys reads the entries from the
-- beginning of the page. The page is merged from these. On the first ten pages, reading the counts of
-- blocks of all combinations would cost more than it saves.
WITH types AS (
    SELECT id FROM read_model.content_type
    WHERE workspace = :workspace AND environment = :environment
      AND (:type_slug::text IS NULL OR slug = :type_slug)
), list AS MATERIALIZED (
    SELECT c.filters, c.content_type_id, c.status, c.language, c.n
    FROM read_model.entry_count c JOIN types t ON t.id = c.content_type_id
    WHERE c.workspace = :workspace AND c.environment = :environment AND c.filters = 3 AND c.level = 0
      AND (:status::text IS NULL OR c.status = :status)
      AND (:language::text IS NULL OR c.language = :language)
), start AS MATERIALIZED (
    SELECT 9223372036854775807 AS below, 0::bigint AS skipped
    WHERE :offset::bigint < 10 * :limit::bigint
    UNION ALL
    SELECT below, skipped FROM (
\ir descent_begin.sql
                SELECT c.block, sum(c.n)::int AS n
                FROM list
                CROSS JOIN LATERAL (
                    SELECT block, n FROM read_model.entry_count
                    WHERE workspace = :workspace AND environment = :environment AND filters = list.filters
                      AND level = upper.level + 1 AND content_type_id = list.content_type_id
                      AND status = list.status AND language = list.language
                      AND block >= upper.block AND block < upper.below
                ) c
                GROUP BY c.block
\ir descent_end.sql
    ) skipping
    WHERE :offset::bigint >= 10 * :limit::bigint
), merged AS (
    SELECT e.id, e.position FROM start
    CROSS JOIN list
    CROSS JOIN LATERAL (
        SELECT id, position FROM read_model.entry
        WHERE workspace = :workspace AND environment = :environment
          AND content_type_id = list.content_type_id AND status = list.status
          AND language = list.language AND ~position > ~start.below
        ORDER BY ~position LIMIT :limit::bigint + :offset - start.skipped
    ) e
    ORDER BY e.position DESC LIMIT :limit OFFSET :offset - (SELECT skipped FROM start)
)
SELECT (SELECT coalesce(sum(n), 0)::bigint FROM list) AS total, merged.*
FROM (SELECT FROM types LIMIT 1) known
LEFT JOIN merged ON true
\ir ../rows/page_size.sql
