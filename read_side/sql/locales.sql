-- $1 workspace, $2 environment
SELECT locale FROM read_model.locale_count WHERE workspace = $1 AND environment = $2 ORDER BY locale
