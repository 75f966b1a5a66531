-- $1 workspace, $2 media ids
SELECT id, name, url, content_type FROM read_model.media WHERE workspace = $1 AND id = ANY ($2)
