-- $1 workspace
SELECT name FROM read_model.workspace WHERE slug = $1
