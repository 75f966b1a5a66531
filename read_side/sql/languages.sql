-- $1 workspace, $2 environment
SELECT DISTINCT language FROM read_model.entry_count
WHERE workspace = $1 AND environment = $2 AND filters = 3 AND level = 0
ORDER BY language
