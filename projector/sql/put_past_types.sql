-- $1 workspace, $2 environment, $3 slug, $4 position, $5 id, $6 since, $7 until
INSERT INTO past_type (workspace, environment, slug, position, id, since, until)
VALUES ($1, $2, $3, $4, $5, $6, $7)
