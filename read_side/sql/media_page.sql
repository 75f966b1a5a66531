-- $1 workspace, $2 limit, $3 offset
SELECT
\ir rows/stamp.sql
library.total, page.id, page.name, page.url, page.content_type
FROM (SELECT count(*) AS total FROM read_model.media WHERE workspace = $1) AS library
LEFT JOIN LATERAL (
    SELECT id, name, url, content_type FROM read_model.media
    WHERE workspace = $1 ORDER BY id LIMIT $2 OFFSET $3
) AS page ON true
ORDER BY page.id
