-- $1 workspaces, $2 environments, $3 positions, $4 lists, $5 keys
DELETE FROM entry_value v
USING unnest($1::text[], $2::text[], $3::bigint[], $4::uuid[], $5::bytea[])
    AS gone(workspace, environment, position, list, key)
WHERE (v.workspace, v.environment, v.position, v.list, v.key)
    = (gone.workspace, gone.environment, gone.position, gone.list, gone.key)
  AND v.workspace = ANY ($1::text[] COLLATE "C")
