-- $1 id, $2 workspace, $3 environment, $4 content type id, $5 language, $6 slug hash
INSERT INTO write_side.entry_claim (id, workspace, environment, content_type_id, language, slug_hash)
VALUES ($1, $2, $3, $4, $5, $6)
