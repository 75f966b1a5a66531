-- Where a page of one list begins.
\ir descent_begin.sql
                SELECT block, n FROM read_model.entry_count
                WHERE workspace = :workspace AND environment = :environment AND filters = list.filters
                  AND level = upper.level + 1 AND content_type_id = list.content_type_id
                  AND status = list.status AND language = list.language
                  AND block >= upper.block AND block < upper.below
\ir descent_end.sql
