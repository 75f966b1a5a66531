-- $1 workspace, $2 environment, $3 combinations, $4 check_lists, $5 firsts, $6 lasts, $7 parts, $8 check_lows, $9 check_highs, $10 sort_lists, $11 sort_keys, $12 sorts, $13 excluded, $14 types, $15 statuses, $16 languages, $17 below, $18 size
-- The next entries of some types, statuses and languages, newest first.
WITH candidates AS MATERIALIZED (
    SELECT ''::bytea AS key, found.position, stream.combination
    FROM unnest(:combinations::int[], :types::uuid[], :statuses::text[], :languages::text[])
        AS stream (combination, content_type_id, status, language)
    CROSS JOIN LATERAL (
        SELECT * FROM (
            SELECT position FROM read_model.entry
            WHERE workspace = :workspace AND environment = :environment
              AND content_type_id = stream.content_type_id AND status = stream.status
              AND language = stream.language AND ~position > ~:below::bigint
            ORDER BY ~position LIMIT 2000
        ) ordered LIMIT :size
    ) found
    ORDER BY ~found.position LIMIT :size
)
\ir query/checked.sql
