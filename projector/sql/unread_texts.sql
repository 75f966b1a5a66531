-- $1 workspaces, $2 environments, $3 positions, $4 locales
-- The keys, as in digest, of those texts whose words are still to be found.
SELECT jsonb_build_array(workspace, environment, position, locale)::text
FROM entry_search JOIN unnest($1::text[], $2::text[], $3::bigint[], $4::text[])
    AS d (workspace, environment, position, locale) USING (workspace, environment, position, locale)
WHERE words IS NULL
