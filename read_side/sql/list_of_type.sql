-- $1 workspace, $2 environment, $3 limit, $4 offset, $5 type_slug, $6 status, $7 language, $8 inline
-- For the first pages, which are the most frequent read. It reads each row directly from the index scan.
-- Selecting keys first and then fetching their rows, as the other lists do, was slower when measured.
SELECT coalesce(c.n, 0) AS total,
\ir rows/served_columns.sql
FROM read_model.content_type t
LEFT JOIN read_model.entry_count c
    ON c.workspace = :workspace AND c.environment = :environment AND c.filters = 3 AND c.level = 0
   AND c.content_type_id = t.id AND c.status = :status AND c.language = :language
LEFT JOIN LATERAL (
    -- 300 is the largest page after the largest offset (paging.py). Without a constant the planner
    -- would expect a tenth of all entries, and a server with default settings would compile the plan.
    SELECT * FROM (
        SELECT * FROM read_model.entry
        WHERE workspace = :workspace AND environment = :environment AND content_type_id = t.id
          AND status = :status AND language = :language
        ORDER BY ~position LIMIT 300
    ) newest LIMIT :limit OFFSET :offset
) e ON true
\ir rows/original.sql
\ir rows/size.sql
WHERE t.workspace = :workspace AND t.environment = :environment AND t.slug = :type_slug
ORDER BY e.position DESC
