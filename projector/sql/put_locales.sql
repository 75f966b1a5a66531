-- $1 workspaces, $2 environments, $3 locales, $4 ids, $5 titles, $6 texts, $7 fields
INSERT INTO entry_locale (workspace, partition_key, locale, id, title, texts, fields)
SELECT workspace, environment || '/' || CASE WHEN p.state <> 'attached' THEN locale ELSE 'other' END,
       locale, id, title, texts, fields
FROM unnest($1::text[], $2::text[], $3::text[], $4::uuid[], $5::text[], $6::text[], $7::text[])
    AS g(workspace, environment, locale, id, title, texts, fields)
LEFT JOIN locale_partition p USING (environment, locale)
ON CONFLICT (workspace, partition_key, locale, id) DO UPDATE SET
    title = excluded.title, texts = excluded.texts, fields = excluded.fields
WHERE (entry_locale.title, entry_locale.texts, entry_locale.fields)
    IS DISTINCT FROM (excluded.title, excluded.texts, excluded.fields)
