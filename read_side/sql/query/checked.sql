-- The candidates; whether each passes all conditions that were not read already; and the keys by which
-- those that do are sorted. The lists of each combination's conditions are adjacent in :check_lists, and
-- the ranges of each condition in :check_lows and :check_highs. :sort_keys has the keys that all entries of a
-- combination share, and null for those of each entry. convert_from has the collation of the name of an
-- encoding, "C", whose lower() knows ASCII only. Sigma has two lower-case forms, which are treated as equal.
--
-- The values of an entry are looked up by pairs, for which only the index (position, list) can be used. The
-- planner does not know how long a list is, and could otherwise read a whole one for each candidate.
SELECT c.key, c.position, tested.passes, CASE WHEN NOT tested.passes THEN NULL WHEN :sorts::int = 0 THEN '{}' ELSE ARRAY(
    SELECT coalesce((:sort_keys::bytea[])[(c.combination - 1) * :sorts::int + sort.number], (
        SELECT v.key FROM read_model.entry_value v
        WHERE v.workspace = :workspace AND v.environment = :environment AND v.position = c.position
          AND (v.position, v.list) >= (c.position, wanted.list)
          AND (v.position, v.list) <= (c.position, wanted.list)
        LIMIT 1), '\xff')
    FROM generate_series(1, :sorts::int) AS sort (number)
    CROSS JOIN LATERAL (SELECT (:sort_lists::uuid[])[(c.combination - 1) * :sorts::int + sort.number] AS list) wanted
    ORDER BY sort.number
) END AS keys
FROM candidates c
CROSS JOIN LATERAL (
    SELECT c.position <> ALL (:excluded::bigint[]) AND (cardinality(:firsts::int[]) = 0 OR coalesce((
        SELECT false
        FROM unnest(:firsts::int[], :lasts::int[], :parts::text[]) WITH ORDINALITY AS condition (first, last, part, number)
        CROSS JOIN LATERAL (
            SELECT (:check_lists::uuid[])[(c.combination - 1) * cardinality(:firsts::int[]) + condition.number::int] AS list,
                   (:check_lows::bytea[])[condition.first] AS low,
                   (:check_highs::bytea[])[condition.last] AS high
        ) bound
        -- Not EXISTS, for which the planner may read all keys into a hash table.
        WHERE coalesce(CASE
            -- One key: it is next to that of the entry before, in an index that is enough.
            WHEN bound.high = bound.low || '\x00' AND condition.part IS NULL THEN (
                SELECT false FROM read_model.entry_value v
                WHERE v.workspace = :workspace AND v.environment = :environment
                  AND v.list = bound.list AND v.key = bound.low AND ~v.position = ~c.position
                LIMIT 1)
            ELSE (
                SELECT false FROM read_model.entry_value v
                WHERE v.workspace = :workspace AND v.environment = :environment AND v.position = c.position
                  AND (v.position, v.list) >= (c.position, bound.list)
                  AND (v.position, v.list) <= (c.position, bound.list)
                  AND CASE WHEN v.list = bound.list AND v.key >= bound.low AND v.key < (:check_highs::bytea[])[condition.first - 1
                          + width_bucket(v.key, (:check_lows::bytea[])[condition.first : condition.last])]
                      THEN condition.part IS NULL
                          OR position(replace(lower(condition.part), 'ς', 'σ')
                              IN replace(lower(convert_from(v.key, 'UTF8') COLLATE "default"), 'ς', 'σ')) > 0
                      ELSE false END
                LIMIT 1)
            END, true)
        LIMIT 1), true)) AS passes
    -- Without OFFSET, the planner would test each candidate twice.
    OFFSET 0
) tested
