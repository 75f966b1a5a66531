-- $1 workspaces, $2 environments, $3 positions, $4 lists, $5 keys
INSERT INTO entry_value (workspace, environment, position, list, key)
SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::uuid[], $5::bytea[])
