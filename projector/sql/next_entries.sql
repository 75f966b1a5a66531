-- $1 workspace, $2 environment, $3 content type id, $4 seen, $5 limit, $6 bytes
SELECT e.id::text, e.workspace, e.environment, e.content_type_id::text, e.slug, e.title, e.status,
       e.language, e.stage_id, e.published_at, e.created_at, e.updated_at, e.position, e.version,
       e.slug_since, coalesce(e.stored, e.fields) AS stored, e.translations
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
