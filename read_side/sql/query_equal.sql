-- $1 workspace, $2 environment, $3 combinations, $4 check_lists, $5 firsts, $6 lasts, $7 parts, $8 check_lows, $9 check_highs, $10 sort_lists, $11 sort_keys, $12 sorts, $13 excluded, $14 lists, $15 lows, $16 highs, $17 below, $18 size
-- The next entries with one of some keys, newest first. A key is a range here too: for an equal key the planner
-- expects a few rows, and would read and sort all that there are.
WITH candidates AS MATERIALIZED (
    SELECT ''::bytea AS key, found.position, stream.combination
    FROM unnest(:combinations::int[], :lists::uuid[], :lows::bytea[], :highs::bytea[])
        AS stream (combination, list, low, high)
    CROSS JOIN LATERAL (
        SELECT * FROM (
            SELECT position FROM read_model.entry_value
            WHERE workspace = :workspace AND environment = :environment AND list = stream.list
              AND (key, (~position)) > (stream.low, ~:below::bigint) AND key < stream.high
            ORDER BY key, ~position LIMIT 2000
        ) ordered LIMIT :size
    ) found
    ORDER BY ~found.position LIMIT :size
)
\ir query/checked.sql
