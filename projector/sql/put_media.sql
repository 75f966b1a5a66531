-- $1 id, $2 name, $3 url, $4 content type, $5 workspace
INSERT INTO media (id, name, url, content_type, workspace) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (workspace, id) DO UPDATE SET
    url = excluded.url, name = excluded.name, content_type = excluded.content_type
