-- $1 workspace, $2 environment, $3 type_id, $4 statuses, $5 language, $6 pattern, $7 locale
SELECT count(*) FROM read_model.entry
WHERE workspace = :workspace AND environment = :environment AND content_type_id = :type_id
  AND status = ANY (:statuses::text[]) AND language = :language AND (
\ir pages/title_found.sql
)
