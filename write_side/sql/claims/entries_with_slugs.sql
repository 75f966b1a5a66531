SELECT e.slug_hash, e.id::text, t.slug FROM write_side.entry_claim e
JOIN write_side.content_type_claim t ON t.id = e.content_type_id
WHERE (e.workspace, e.environment) = (:workspace, :environment)
  AND e.content_type_id IN (
      SELECT id FROM write_side.content_type_claim
      WHERE (workspace, environment) = (:workspace, :environment)
        AND (:types::text[] = '{}' OR slug = ANY (:types)))
  AND e.slug_hash = ANY (:hashes)
