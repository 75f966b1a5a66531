-- $1 workspace, $2 environment, $3 type_id, $4 statuses, $5 language; null: any
SELECT language, sum(n)::bigint AS total FROM read_model.entry_count
WHERE workspace = $1 AND environment = $2 AND filters = 3 AND level = 0
  AND content_type_id = $3
  AND status = ANY ($4::text[]) AND ($5::text IS NULL OR language = $5)
GROUP BY language
