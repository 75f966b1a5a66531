-- $1 workspace, $2 id, $3 url, $4 name, $5 content type
INSERT INTO media (workspace, id, url, name, content_type) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (workspace, id) DO UPDATE SET
    url = excluded.url, name = excluded.name, content_type = excluded.content_type
