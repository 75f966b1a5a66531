-- $1 workspace, $2 environment, $3 type id, $4 statuses, $5 language
SELECT coalesce(sum(n), 0)::bigint FROM read_model.entry_count
WHERE workspace = $1 AND environment = $2 AND content_type_id = $3
  AND status = ANY ($4::text[]) AND language = $5
