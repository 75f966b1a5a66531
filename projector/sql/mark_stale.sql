-- $1 workspaces, $2 content type ids
INSERT INTO rendering (workspace, content_type_id) SELECT * FROM unnest($1::text[], $2::uuid[])
ON CONFLICT (content_type_id, workspace) DO UPDATE SET position = NULL
