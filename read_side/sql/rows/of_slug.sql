-- The content type and the entry that has the slug. No row if the type does not exist.
FROM read_model.content_type t
LEFT JOIN read_model.entry e
    ON e.workspace = :workspace AND e.environment = :environment AND e.content_type_id = t.id
   AND e.language = :language AND e.slug_hash = :slug_hash
