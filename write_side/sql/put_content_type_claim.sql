-- $1 id, $2 workspace, $3 environment, $4 slug, $5 version
INSERT INTO write_side.content_type_claim (id, workspace, environment, slug, version)
VALUES ($1, $2, $3, $4, $5)
