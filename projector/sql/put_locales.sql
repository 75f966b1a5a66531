-- $1 workspaces, $2 environments, $3 locales, $4 ids, $5 titles, $6 fields
INSERT INTO entry_locale (workspace, environment, locale, id, title, fields)
SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::uuid[], $5::text[], $6::json[])
ON CONFLICT (workspace, environment, locale, id) DO UPDATE SET
    title = excluded.title, fields = excluded.fields
