-- $1 workspace, $2 environment, $3 positions, $4 bytes
SELECT
\ir shared/entry_columns.sql
FROM (
    SELECT *, sum(bytes) OVER (ORDER BY position ROWS UNBOUNDED PRECEDING) - bytes AS bytes_before
    FROM (
        SELECT *,
               octet_length(coalesce(stored, fields)) + coalesce(octet_length(translations::text), 0) AS bytes
        FROM entry
        WHERE workspace = $1 AND environment = $2 AND position = ANY ($3::bigint[])
    ) AS sized
) AS e
WHERE e.bytes_before < $4
ORDER BY e.position
