SELECT e.slug_hash, e.id::text FROM write_side.entry_claim e
WHERE (e.workspace, e.environment) = (:workspace, :environment)
  AND e.content_type_id IN (
      SELECT id FROM write_side.content_type_claim
      WHERE (workspace, environment) = (:workspace, :environment)
        AND (:types::text[] = '{}' OR slug = ANY (:types)))
  AND e.slug_hash = ANY (:hashes)
