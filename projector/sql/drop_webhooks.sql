-- $1 workspace, $2 name
DELETE FROM webhook WHERE workspace = $1 AND name = $2
