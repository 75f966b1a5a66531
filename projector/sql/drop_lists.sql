-- $1 workspaces, $2 environments, $3 positions, $4 lists
DELETE FROM entry_value v
USING unnest($1::text[], $2::text[], $3::bigint[], $4::uuid[])
    AS gone(workspace, environment, position, list)
WHERE (v.workspace, v.environment, v.position, v.list)
    = (gone.workspace, gone.environment, gone.position, gone.list)
  AND v.workspace = ANY ($1::text[] COLLATE "C")
