-- $1 workspace, $2 environment, $3 quota, $4 bound
INSERT INTO write_side.usage (workspace, environment, quota, used, bound)
SELECT $1, $2, $3, count(*), $4 FROM write_side.content_type_claim
WHERE workspace = $1 AND environment = $2
