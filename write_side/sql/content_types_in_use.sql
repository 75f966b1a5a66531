-- $1 workspace, $2 environment, $3 slugs: those of the content types that have entries
SELECT t.slug FROM write_side.content_type_claim t
WHERE (t.workspace, t.environment) = ($1, $2) AND t.slug = ANY ($3)
  AND EXISTS (
      SELECT FROM write_side.entry_claim e
      WHERE (e.workspace, e.environment, e.content_type_id) = ($1, $2, t.id))
ORDER BY t.slug
