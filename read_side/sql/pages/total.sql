-- The number of entries in `list`.
LEFT JOIN read_model.entry_count counted
    ON counted.workspace = :workspace AND counted.environment = :environment
   AND counted.filters = list.filters AND counted.level = 0
   AND counted.content_type_id = list.content_type_id AND counted.status = list.status
   AND counted.language = list.language
