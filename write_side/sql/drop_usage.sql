-- $1 workspace, $2 environment, $3 quota
DELETE FROM write_side.usage WHERE (workspace, environment, quota) = ($1, $2, $3)
