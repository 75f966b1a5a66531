-- $1 workspaces, $2 environments, $3 positions, $4 locales
DELETE FROM entry_search s
USING unnest($1::text[], $2::text[], $3::bigint[], $4::text[]) AS gone (workspace, environment, position, locale)
WHERE (s.workspace, s.environment, s.position, s.locale)
    = (gone.workspace, gone.environment, gone.position, gone.locale)
  AND s.workspace = ANY ($1::text[] COLLATE "C")
