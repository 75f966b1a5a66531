-- $1 workspace, $2 environment, $3 type_id, $4 statuses, $5 languages, $6 before, $7 limit, $8 bytes
\ir export/begin.sql
            SELECT e.*
            -- For each status and language that there is, an index scan. The constant is for the
            -- planner: a page has up to 500 rows (export.py).
            FROM read_model.entry_count wanted
            CROSS JOIN LATERAL (
                SELECT * FROM (
                    SELECT id, title, slug, status, language, created_at, updated_at, published_at,
                           position, stored, fields
                    FROM read_model.entry
                    WHERE workspace = :workspace AND environment = :environment
                      AND content_type_id = :type_id AND status = wanted.status
                      AND language = wanted.language
                      AND ~position > ~:before::bigint
                    ORDER BY ~position LIMIT :limit
                ) newest LIMIT 500
            ) e
            WHERE wanted.workspace = :workspace AND wanted.environment = :environment
              AND wanted.filters = 3 AND wanted.level = 0 AND wanted.content_type_id = :type_id
              AND wanted.status = ANY (:statuses::text[])
              AND wanted.language = ANY (:languages::text[])
            ORDER BY position DESC LIMIT :limit
\ir export/end.sql
