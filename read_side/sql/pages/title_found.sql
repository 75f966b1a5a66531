title ILIKE :pattern OR EXISTS (
    SELECT FROM read_model.entry_locale l
    WHERE l.workspace = :workspace AND l.environment = :environment AND l.locale = :locale
      AND l.id = entry.id AND l.title ILIKE :pattern)
