-- $1 workspaces, $2 environments, $3 ids
DELETE FROM entry e USING unnest($1::text[], $2::text[], $3::uuid[]) AS gone(workspace, environment, id)
WHERE (e.workspace, e.environment, e.id) = (gone.workspace, gone.environment, gone.id)
  AND e.workspace = ANY ($1::text[] COLLATE "C")
