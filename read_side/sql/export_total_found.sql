-- $1 workspace, $2 environment, $3 type id, $4 statuses, $5 language, $6 pattern, $7 locale
SELECT count(*) FROM read_model.entry
WHERE workspace = $1 AND environment = $2 AND content_type_id = $3
  AND status = ANY ($4::text[]) AND language = $5
  AND (title ILIKE $6 OR EXISTS (
      SELECT FROM read_model.entry_locale l
      WHERE l.workspace = $1 AND l.environment = $2 AND l.locale = $7
        AND l.id = entry.id AND l.title ILIKE $6))
