-- $1 environment, $2 locale, $3 limit, $4 bytes
-- Moves some rows of a locale from the shared partition to the locale's own; at least one, if there is one.
UPDATE entry_locale l SET partition_key = $1::text || '/' || $2::text
FROM (
    SELECT workspace, id, sum(size) OVER (ROWS UNBOUNDED PRECEDING) - size AS bytes_before
    FROM (
        SELECT r.workspace, r.id, coalesce(pg_column_size(r.texts), 0) + coalesce(pg_column_size(r.fields), 0) AS size
        FROM (SELECT DISTINCT workspace FROM locale_count WHERE environment = $1 AND locale = $2) c
        CROSS JOIN LATERAL (
            SELECT workspace, id, texts, fields FROM entry_locale
            WHERE workspace = c.workspace AND partition_key = $1::text || '/other' AND locale = $2
            LIMIT $3
        ) r
        LIMIT $3
    ) coming
) chunk
WHERE chunk.bytes_before < $4 AND l.partition_key = $1::text || '/other'
  AND (l.workspace, l.locale, l.id) = (chunk.workspace, $2, chunk.id)
