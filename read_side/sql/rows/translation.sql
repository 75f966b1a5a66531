-- The texts of the entry in the locale; null if it has no translation.
LEFT JOIN LATERAL (
    SELECT title, fields FROM read_model.entry_locale
    WHERE workspace = :workspace AND environment = :environment AND locale = :locale
      AND id = page.id LIMIT 1
) l ON true
