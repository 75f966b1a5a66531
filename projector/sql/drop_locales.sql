-- $1 workspaces, $2 environments, $3 locales, $4 ids
DELETE FROM entry_locale l
USING unnest($1::text[], $2::text[], $3::text[], $4::uuid[]) AS gone(workspace, environment, locale, id)
WHERE l.workspace = ANY ($1::text[] COLLATE "C") AND (l.workspace, l.locale, l.id) = (gone.workspace, gone.locale, gone.id)
  AND l.partition_key IN (gone.environment || '/' || gone.locale, gone.environment || '/other')
