-- The texts of the entry in the locale; null if it has no translation. Each branch reads one partition at
-- most: that of the locale, if it has one, then the shared one for rows that are not in the first. Neither is
-- read for an entry written in the locale, which is never translated into it.
LEFT JOIN LATERAL (
    SELECT title, texts, fields FROM read_model.entry_locale
    WHERE e.language <> :locale
      AND workspace = :workspace AND partition_key = :environment || '/' || :locale
      AND locale = :locale AND id = e.id
    UNION ALL
    SELECT title, texts, fields FROM read_model.entry_locale
    WHERE e.language <> :locale
      AND workspace = :workspace AND partition_key = :environment || '/other'
      AND locale = :locale AND id = e.id
    LIMIT 1
) l ON true
