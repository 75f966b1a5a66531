-- $1 workspace, $2 environment, $3 type id, $4 statuses, $5 language, $6 pattern, $7 locale, $8 created before, $9 position before, $10 limit, $11 bytes
SELECT id::text, title, slug, status, created_at, updated_at, published_at, position, stored
FROM (
    -- The first of a page is read whatever its size: before it, there is nothing.
    SELECT *, sum(size) OVER newest - size AS bytes_before
    FROM (
        SELECT *, octet_length(title) + octet_length(slug) + octet_length(stored::text) AS size
        FROM (
            -- To weigh a value it must be unpacked: what is too much when packed is not weighed.
            SELECT *, sum(pg_column_size(stored)) OVER newest - pg_column_size(stored) AS packed_before
            FROM (
                SELECT e.*
                FROM unnest($4::text[]) AS wanted (status)
                CROSS JOIN LATERAL (
                    SELECT id, title, slug, status, created_at, updated_at, published_at, position,
                           stored
                    FROM read_model.entry
                    WHERE workspace = $1 AND environment = $2 AND content_type_id = $3
                      AND status = wanted.status AND language = $5
                      AND (created_at, position) < ($8, $9)
                      AND ($6 = '' OR title ILIKE $6 OR EXISTS (
                          SELECT FROM read_model.entry_locale l
                          WHERE l.workspace = $1 AND l.environment = $2 AND l.locale = $7
                            AND l.id = entry.id AND l.title ILIKE $6))
                    ORDER BY created_at DESC, position DESC LIMIT $10
                ) e
                ORDER BY created_at DESC, position DESC LIMIT $10
            ) page
            WINDOW newest AS (ORDER BY created_at DESC, position DESC ROWS UNBOUNDED PRECEDING)
        ) packed
        WHERE packed_before < $11
    ) weighed
    WINDOW newest AS (ORDER BY created_at DESC, position DESC ROWS UNBOUNDED PRECEDING)
) sized
WHERE bytes_before < $11
ORDER BY created_at DESC, position DESC
