-- $1 workspace, $2 environment, $3 type_id, $4 statuses, $5 languages, $6 pattern, $7 locale
SELECT language, count(*) AS total FROM read_model.entry
WHERE workspace = :workspace AND environment = :environment AND content_type_id = :type_id
  AND status = ANY (:statuses::text[]) AND language = ANY (:languages::text[]) AND (
\ir pages/title_found.sql
)
GROUP BY language
