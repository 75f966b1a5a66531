-- Where a page of several lists begins, which are merged.
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
