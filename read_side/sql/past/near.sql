        -- Versions of each class of lifetimes that began shortly before the moment: most were valid at it.
        SELECT v.position, v.until
        FROM unnest(:beginnings::timestamptz[]) WITH ORDINALITY AS class(beginning, lifetime)
        CROSS JOIN LATERAL (
            SELECT position, until FROM read_model.past_version
            WHERE workspace = :workspace AND environment = :environment
              AND content_type_id = k.content_type_id AND status = k.status AND language = k.language
              AND lifetime = class.lifetime AND updated_at > class.beginning AND updated_at <= :at
            OFFSET 0  -- each class is a range of the index, never a join with all versions
        ) v
