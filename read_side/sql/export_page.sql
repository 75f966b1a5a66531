-- $1 workspace, $2 environment, $3 type_id, $4 statuses, $5 languages, $6 pattern, $7 locale, $8 before, $9 limit, $10 bytes
SELECT id::text, title, slug, status, language, created_at, updated_at, published_at, position, stored
FROM (
    -- Pages by keyset. The first row of a page is read regardless of its size, so a page is never empty.
    SELECT *, sum(size) OVER newest - size AS bytes_before
    FROM (
        SELECT *, octet_length(title) + octet_length(slug) + octet_length(stored::text) AS size
        FROM (
            -- To get the size of a value, PostgreSQL must decompress it. Rows that exceed the bound even
            -- when compressed are therefore dropped first.
            SELECT *, sum(pg_column_size(stored)) OVER newest - pg_column_size(stored) AS packed_before
            FROM (
                SELECT e.*
                -- For each status and language that there is, an index scan. The constant is for the
                -- planner: a page has up to 500 rows (export.py).
                FROM read_model.entry_count wanted
                CROSS JOIN LATERAL (
                    SELECT * FROM (
                        SELECT id, title, slug, status, language, created_at, updated_at, published_at,
                               position, stored
                        FROM read_model.entry
                        WHERE workspace = :workspace AND environment = :environment
                          AND content_type_id = :type_id AND status = wanted.status
                          AND language = wanted.language
                          AND ~position > ~:before::bigint
                          AND (:pattern = '' OR
\ir pages/title_found.sql
                          )
                        ORDER BY ~position LIMIT :limit
                    ) newest LIMIT 500
                ) e
                WHERE wanted.workspace = :workspace AND wanted.environment = :environment
                  AND wanted.filters = 3 AND wanted.level = 0 AND wanted.content_type_id = :type_id
                  AND wanted.status = ANY (:statuses::text[])
                  AND wanted.language = ANY (:languages::text[])
                ORDER BY position DESC LIMIT :limit
            ) page
            WINDOW newest AS (ORDER BY position DESC ROWS UNBOUNDED PRECEDING)
        ) packed
        WHERE packed_before < :bytes
    ) weighed
    WINDOW newest AS (ORDER BY position DESC ROWS UNBOUNDED PRECEDING)
) sized
WHERE bytes_before < :bytes
ORDER BY position DESC
