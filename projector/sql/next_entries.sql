-- $1 workspace, $2 environment, $3 content type id, $4 seen, $5 limit, $6 bytes
SELECT
\ir shared/entry_columns.sql
FROM (
    SELECT *, sum(bytes) OVER (ORDER BY newest ROWS UNBOUNDED PRECEDING)
              - bytes AS bytes_before
    FROM (
        SELECT *, -position AS newest,
               octet_length(coalesce(stored, fields)) + coalesce(octet_length(translations::text), 0) AS bytes
        FROM entry
        WHERE workspace = $1 AND environment = $2 AND content_type_id = $3
          AND -position > -coalesce($4, 9223372036854775807)
        ORDER BY newest LIMIT $5
    ) AS coming
) AS e
WHERE e.bytes_before < $6
ORDER BY e.newest
