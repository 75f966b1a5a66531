        -- The entries of a combination, newest first, each with its version that ended next. Each step
        -- skips the versions of one entry.
        WITH RECURSIVE walk AS (
            SELECT max(position) AS position FROM read_model.past_version
            WHERE workspace = :workspace AND environment = :environment
              AND content_type_id = k.content_type_id AND status = k.status AND language = k.language
              AND position <= :through
            UNION ALL
            SELECT (
                SELECT max(position) FROM read_model.past_version
                WHERE workspace = :workspace AND environment = :environment
                  AND content_type_id = k.content_type_id AND status = k.status AND language = k.language
                  AND position < walk.position)
            FROM walk WHERE walk.position IS NOT NULL
        )
        SELECT walk.position, next.until, next.updated_at FROM walk
        LEFT JOIN LATERAL (
            SELECT until, updated_at FROM read_model.past_version
            WHERE workspace = :workspace AND environment = :environment
              AND content_type_id = k.content_type_id AND status = k.status AND language = k.language
              AND position = walk.position AND until > :at
            ORDER BY until LIMIT 1
        ) next ON true
        WHERE walk.position IS NOT NULL
        LIMIT :share
