title ILIKE :pattern OR EXISTS (
    SELECT FROM read_model.entry_locale l
    WHERE l.workspace = :workspace AND l.locale = :locale AND l.id = entry.id AND l.title ILIKE :pattern
      AND l.partition_key IN (:environment || '/' || :locale, :environment || '/other'))
