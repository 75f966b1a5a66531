-- The number of entries in `list`, and where the page of `newest` begins in it.
SELECT coalesce(counted.n, 0) AS total, list.*, newest.*
FROM list
\ir total.sql
LEFT JOIN LATERAL (
\ir descent_begin.sql
                SELECT block, n FROM read_model.entry_count
                WHERE workspace = :workspace AND environment = :environment AND filters = list.filters
                  AND level = upper.level + 1 AND content_type_id = list.content_type_id
                  AND status = list.status AND language = list.language
                  AND block >= upper.block AND block < upper.below
\ir descent_end.sql
) start ON true
