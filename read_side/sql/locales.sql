-- $1 workspace, $2 environment
-- Jumps from one locale to the next by the index, because there are few locales and many rows.
WITH RECURSIVE used AS (
    (SELECT locale FROM read_model.entry_locale
     WHERE workspace = $1 AND environment = $2 ORDER BY locale LIMIT 1)
    UNION ALL
    SELECT next.locale FROM used, LATERAL (
        SELECT locale FROM read_model.entry_locale
        WHERE workspace = $1 AND environment = $2 AND locale > used.locale
        ORDER BY locale LIMIT 1
    ) next
)
SELECT locale FROM used
