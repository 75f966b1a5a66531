-- $1 workspaces, $2 environments, $3 locales, $4 ids
-- While a locale moves to its own partition, older rows of what put_locales writes may still be in the shared one.
DELETE FROM entry_locale l
USING unnest($1::text[], $2::text[], $3::text[], $4::uuid[]) AS g(workspace, environment, locale, id)
JOIN locale_partition p USING (environment, locale)
WHERE p.state = 'moving' AND l.partition_key = g.environment || '/other'
  AND (l.workspace, l.locale, l.id) = (g.workspace, g.locale, g.id)
  AND l.workspace = ANY ($1::text[] COLLATE "C")
