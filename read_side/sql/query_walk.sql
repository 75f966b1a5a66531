-- $1 workspace, $2 environment, $3 combinations, $4 check_lists, $5 firsts, $6 lasts, $7 parts, $8 check_lows, $9 check_highs, $10 sort_lists, $11 sort_keys, $12 sorts, $13 excluded, $14 lists, $15 lows, $16 afters, $17 highs, $18 size
-- The next entries in the order of their keys, the newest of each key first. A stream begins after its
-- lowest key and the position that is the complement of `after`.
WITH candidates AS MATERIALIZED (
    SELECT found.key, found.position, stream.combination
    FROM unnest(:combinations::int[], :lists::uuid[], :lows::bytea[], :afters::bigint[], :highs::bytea[])
        AS stream (combination, list, low, after, high)
    CROSS JOIN LATERAL (
        SELECT * FROM (
            SELECT key, position FROM read_model.entry_value
            WHERE workspace = :workspace AND environment = :environment AND list = stream.list
              AND (key, (~position)) > (stream.low, stream.after) AND key < stream.high
            ORDER BY key, ~position LIMIT 2000
        ) ordered LIMIT :size
    ) found
    ORDER BY found.key, ~found.position LIMIT :size
)
\ir query/checked.sql
