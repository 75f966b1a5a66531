-- $1 workspace, $2 environment, $3 combinations, $4 check_lists, $5 firsts, $6 lasts, $7 parts, $8 check_lows, $9 check_highs, $10 sort_lists, $11 sort_keys, $12 sorts, $13 excluded, $14 lists, $15 lows, $16 highs, $17 size
-- The next entries from the highest key down. The entries of one key are in no particular order.
WITH candidates AS MATERIALIZED (
    SELECT found.key, found.position, stream.combination
    FROM unnest(:combinations::int[], :lists::uuid[], :lows::bytea[], :highs::bytea[])
        AS stream (combination, list, low, high)
    CROSS JOIN LATERAL (
        SELECT * FROM (
            SELECT key, position FROM read_model.entry_value
            WHERE workspace = :workspace AND environment = :environment AND list = stream.list
              AND key >= stream.low AND key < stream.high
            ORDER BY key DESC, ~position DESC LIMIT 2000
        ) ordered LIMIT :size
    ) found
    ORDER BY found.key DESC, ~found.position DESC LIMIT :size
)
\ir query/checked.sql
