-- $1 workspaces, $2 environments, $3 positions, $4 removed workspaces, $5 removed environments, $6 removed positions, $7 removed lists, $8 removed keys, $9 added workspaces, $10 added environments, $11 added positions, $12 added lists, $13 added keys
-- Removes all values of some entries and some values of others, and adds values. None of those added is
-- among those removed.
WITH entries AS (
    DELETE FROM entry_value v
    USING unnest($1::text[], $2::text[], $3::bigint[]) AS gone(workspace, environment, position)
    WHERE (v.workspace, v.environment, v.position) = (gone.workspace, gone.environment, gone.position)
), removed AS (
    DELETE FROM entry_value v
    USING unnest($4::text[], $5::text[], $6::bigint[], $7::uuid[], $8::bytea[])
        AS gone(workspace, environment, position, list, key)
    WHERE (v.workspace, v.environment, v.position, v.list, v.key)
        = (gone.workspace, gone.environment, gone.position, gone.list, gone.key)
)
INSERT INTO entry_value (workspace, environment, position, list, key)
SELECT * FROM unnest($9::text[], $10::text[], $11::bigint[], $12::uuid[], $13::bytea[])
