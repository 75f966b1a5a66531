-- $1 workspace, $2 environment, $3 slugs of types (none: all), $4 slug hashes
-- A statement of its own: with "$4 IS NULL OR language = $4" the index would serve neither.
SELECT e.slug_hash, e.id::text, t.slug FROM write_side.entry_claim e
JOIN write_side.content_type_claim t ON t.id = e.content_type_id
WHERE (e.workspace, e.environment) = ($1, $2)
  AND e.content_type_id IN (
      SELECT id FROM write_side.content_type_claim
      WHERE (workspace, environment) = ($1, $2) AND ($3::text[] = '{}' OR slug = ANY ($3)))
  AND e.slug_hash = ANY ($4)
