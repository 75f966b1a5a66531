-- $1 workspace, $2 environment, $3 combinations, $4 check_lists, $5 firsts, $6 lasts, $7 parts, $8 check_lows, $9 check_highs, $10 sort_lists, $11 sort_keys, $12 sorts, $13 excluded, $14 lists, $15 lows, $16 highs, $17 known, $18 positions, $19 descending, $20 after_rank, $21 below, $22 limit, $23 offset
-- A page of few entries, of which all are read: those with keys in some ranges, or at some positions. A
-- rank sorts as the keys of the entry do, each in its own direction; values that cannot be compared and
-- missing ones come last in both (read_side/queries/ranges.py).
WITH candidates AS MATERIALIZED (
    SELECT ''::bytea AS key, found.position, stream.combination
    FROM unnest(:combinations::int[], :lists::uuid[], :lows::bytea[], :highs::bytea[])
        AS stream (combination, list, low, high)
    CROSS JOIN LATERAL (
        SELECT position FROM read_model.entry_value
        WHERE workspace = :workspace AND environment = :environment AND list = stream.list
          AND key >= stream.low AND key < stream.high
        LIMIT 10000
    ) found
    UNION
    SELECT '', position, combination FROM unnest(:known::int[], :positions::bigint[]) AS known (combination, position)
    LIMIT 10000
), checked AS MATERIALIZED (
\ir query/checked.sql
), matches AS MATERIALIZED (
    SELECT c.position, c.keys, CASE WHEN cardinality(c.keys) = 0 THEN '' ELSE (
        SELECT string_agg(
            CASE WHEN NOT descending THEN encode(key, 'hex') || '!'
                 WHEN key < '\xfe' THEN '0' || translate(encode(key, 'hex'), '0123456789abcdef', 'fedcba9876543210') || 'g'
                 ELSE '1' || encode(key, 'hex') END, '' ORDER BY number)
        FROM unnest(c.keys, :descending::bool[]) WITH ORDINALITY AS sorted (key, descending, number)
    ) END COLLATE "C" AS rank
    FROM checked c
    WHERE c.passes
)
SELECT (SELECT count(*) FROM matches) AS total, page.position, page.keys
FROM (SELECT) one
LEFT JOIN LATERAL (
    SELECT position, keys FROM matches
    WHERE (rank, ~position) > (:after_rank::text, ~:below::bigint)
    ORDER BY rank, ~position LIMIT :limit::bigint OFFSET :offset::bigint
) page ON true
