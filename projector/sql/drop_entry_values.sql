-- $1 workspaces, $2 environments, $3 positions
DELETE FROM entry_value v
USING unnest($1::text[], $2::text[], $3::bigint[]) AS gone(workspace, environment, position)
WHERE (v.workspace, v.environment, v.position) = (gone.workspace, gone.environment, gone.position)
  AND v.workspace = ANY ($1::text[] COLLATE "C")
