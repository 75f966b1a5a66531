-- $1 workspace, $2 environment, $3 entry ids
SELECT e.id::text, t.slug FROM write_side.entry_claim e
JOIN write_side.content_type_claim t ON t.id = e.content_type_id
WHERE e.id = ANY ($3::uuid[]) AND (e.workspace, e.environment) = ($1, $2)
