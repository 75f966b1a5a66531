-- $1 workspaces, $2 environments, $3 positions, $4 lists, $5 keys
-- Many entries may have the same key, so all columns of the index (list, key, ~position) are compared.
DELETE FROM entry_value v
USING unnest($1::text[], $2::text[], $3::bigint[], $4::uuid[], $5::bytea[])
    AS gone(workspace, environment, position, list, key)
WHERE (v.workspace, v.environment, v.list, v.key, ~v.position)
    = (gone.workspace, gone.environment, gone.list, gone.key, ~gone.position)
  AND v.workspace = ANY ($1::text[] COLLATE "C")
