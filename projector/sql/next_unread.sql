-- $1 workspace, $2 environment, $3 limit, $4 bytes
SELECT
\ir shared/entry_columns.sql
FROM (
    SELECT *, sum(bytes) OVER (ORDER BY position ROWS UNBOUNDED PRECEDING) - bytes AS bytes_before
    FROM (
        SELECT entry.*,
               octet_length(coalesce(stored, fields)) + coalesce(octet_length(translations::text), 0) AS bytes
        FROM (
            SELECT DISTINCT position FROM entry_search
            WHERE words IS NULL AND workspace = $1 AND environment = $2 ORDER BY position LIMIT $3
        ) AS unread
        JOIN entry ON entry.workspace = $1 AND entry.environment = $2 AND entry.position = unread.position
    ) AS sized
) AS e
WHERE e.bytes_before < $4
ORDER BY e.position
