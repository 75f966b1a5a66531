-- $1 workspace, $2 id
DELETE FROM media WHERE workspace = $1 AND id = $2
