-- $1 workspace, $2 environment, $3 numbers, $4 lists, $5 lows, $6 highs, $7 wanted, $8 most
-- The number of keys in the ranges of each condition, up to `most`.
SELECT condition.number, (
    SELECT count(*) FROM (
        SELECT FROM unnest(:numbers::int[], :lists::uuid[], :lows::bytea[], :highs::bytea[])
            AS stream (number, list, low, high)
        CROSS JOIN LATERAL (
            SELECT FROM read_model.entry_value
            WHERE workspace = :workspace AND environment = :environment AND list = stream.list
              AND key >= stream.low AND key < stream.high
            LIMIT :most
        ) found
        WHERE stream.number = condition.number LIMIT :most
    ) bounded
) AS n
FROM unnest(:wanted::int[]) AS condition (number)
