-- $1 workspaces, $2 environments, $3 locales, $4 ids, $5 titles, $6 texts, $7 fields
-- While a locale moves to its own partition, an older row may still be in the shared one.
WITH given AS MATERIALIZED (
    SELECT g.*, p.state = 'moving' AS is_moving, g.environment || '/other' AS shared,
           g.environment || '/' || CASE WHEN p.state <> 'attached' THEN g.locale ELSE 'other' END AS key
    FROM unnest($1::text[], $2::text[], $3::text[], $4::uuid[], $5::text[], $6::text[], $7::text[])
        AS g(workspace, environment, locale, id, title, texts, fields)
    LEFT JOIN locale_partition p USING (environment, locale)
), moved AS (
    DELETE FROM entry_locale l USING given g
    WHERE g.is_moving AND l.partition_key = g.shared
      AND (l.workspace, l.locale, l.id) = (g.workspace, g.locale, g.id)
)
INSERT INTO entry_locale (workspace, partition_key, locale, id, title, texts, fields)
SELECT workspace, key, locale, id, title, texts, fields FROM given
ON CONFLICT (workspace, partition_key, locale, id) DO UPDATE SET
    title = excluded.title, texts = excluded.texts, fields = excluded.fields
WHERE (entry_locale.title, entry_locale.texts, entry_locale.fields)
    IS DISTINCT FROM (excluded.title, excluded.texts, excluded.fields)
