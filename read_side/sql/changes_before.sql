-- $1 workspace, $2 environment, $3 time
-- The position of the last change before a time, by bisection, because times never go back over the
-- positions. A row at `low` is older (or `low` is 0), and none after `high` is.
WITH RECURSIVE bounds AS (
    SELECT 0::bigint AS low, coalesce((
        SELECT position FROM read_model.change
        WHERE workspace = :workspace AND environment = :environment ORDER BY position DESC LIMIT 1
    ), 0) AS high
    UNION ALL
    SELECT CASE WHEN c.at < :time THEN c.position ELSE low END,
           CASE WHEN c.at < :time THEN high ELSE (low + high) / 2 END
    FROM bounds CROSS JOIN LATERAL (
        SELECT position, at FROM read_model.change
        WHERE workspace = :workspace AND environment = :environment AND position > (low + high) / 2
        ORDER BY position LIMIT 1
    ) c
    WHERE low < high
)
SELECT low AS position FROM bounds WHERE low = high
