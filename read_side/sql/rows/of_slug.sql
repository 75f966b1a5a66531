-- The entry of a slug beside its type; no row for a type that there is not.
FROM read_model.content_type t
LEFT JOIN read_model.entry e
    ON e.workspace = :workspace AND e.environment = :environment AND e.content_type_id = t.id
   AND e.language = :language AND e.slug_hash = :slug_hash
