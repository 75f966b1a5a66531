-- $1 workspace, $2 environment, $3 statuses, $4 types, $5 languages, $6 locales, $7 areas, $8 gates, $9 queries, $10 locale, $11 most, $12 most_read, $13 most_bytes
-- The newest entries whose words match, with their ranks. An area is the texts of a type and language, in
-- that language (locale '') or in a locale. Each has one query, in which # stands for the prefix of the
-- block's lexemes (words.py). Blocks are searched newest first, until enough is found or read; only those
-- in which the counts of entries have some of these types, languages and statuses. The gate of an area
-- is a query for the whole words, to read the many words that begin with a letter only where these are.
-- The sizes of texts are limited, because a rank reads all of one; the oldest have none beyond that. A text
-- is read again by its place for this, because its words would make the sort large.
WITH RECURSIVE steps AS MATERIALIZED (
    SELECT array_agg(block ORDER BY block DESC, area) AS blocks,
           array_agg(area ORDER BY block DESC, area) AS areas
    FROM (
        SELECT DISTINCT counted.block, wanted.area::int AS area
        FROM unnest(:types::uuid[], :languages::text[]) WITH ORDINALITY
            AS wanted (content_type_id, language, area)
        CROSS JOIN unnest(:statuses::text[]) AS given (status)
        CROSS JOIN LATERAL (
            SELECT block FROM read_model.entry_count
            WHERE workspace = :workspace AND environment = :environment AND filters = 3 AND level = 2
              AND content_type_id = wanted.content_type_id AND status = given.status
              AND language = wanted.language
        ) counted
    ) pairs
), walk AS (
    SELECT 0 AS number, 0 AS area, NULL::tsquery AS query, 0::bigint AS matches, 0::bigint AS read,
           '{}'::bigint[] AS positions, '{}'::tid[] AS places, '{}'::int[] AS sizes,
           '{}'::text[] AS found_statuses
    UNION ALL
    SELECT walk.number + 1, step.area, step.query, walk.matches + cardinality(found.positions),
           walk.read + found.read, found.positions, found.places, found.sizes, found.found_statuses
    FROM walk
    CROSS JOIN steps
    CROSS JOIN LATERAL (
        SELECT steps.blocks[walk.number + 1] AS block, steps.areas[walk.number + 1] AS area
    ) next
    CROSS JOIN LATERAL (
        SELECT translate(left(encode(sha256(convert_to(
            (:areas::text[])[next.area] || next.block, 'UTF8')), 'base64'), 8), '+/', '-_') AS prefix
    ) hashed
    CROSS JOIN LATERAL (
        -- Without OFFSET, the planner would compute these for each text.
        SELECT next.block, next.area, (:locales::text[])[next.area] AS locale,
               replace((:queries::text[])[next.area], '#', hashed.prefix)::tsquery AS query,
               replace((:gates::text[])[next.area], '#', hashed.prefix)::tsquery AS gate
        OFFSET 0
    ) step
    CROSS JOIN LATERAL (
        SELECT coalesce(array_agg(position) FILTER (WHERE matches), '{}') AS positions,
               coalesce(array_agg(place) FILTER (WHERE matches), '{}') AS places,
               coalesce(array_agg(size) FILTER (WHERE matches), '{}') AS sizes,
               coalesce(array_agg(status) FILTER (WHERE matches), '{}') AS found_statuses,
               count(*) AS read
        FROM (
            -- Without OFFSET, the planner could read all positions of the block by their key.
            SELECT position, ctid AS place, pg_column_size(words) AS size, status,
                workspace = :workspace AND environment = :environment
                AND position >= step.block AND position < step.block + 8192
                AND locale = step.locale AND status = ANY (:statuses::text[])
                -- A translation stands for the original text.
                AND (locale = :locale OR NOT EXISTS (
                    SELECT FROM read_model.entry_search translated
                    WHERE translated.workspace = :workspace AND translated.environment = :environment
                      AND translated.position = original.position
                      AND translated.locale = :locale)) AS matches
            FROM read_model.entry_search original
            WHERE words @@ step.query AND workspace = :workspace COLLATE "C" OFFSET 0
        ) of_block
        WHERE step.gate IS NULL OR (
            -- For EXISTS or a constant, the planner would scan the table to find the first one.
            SELECT position FROM read_model.entry_search
            WHERE words @@ step.gate AND workspace = :workspace COLLATE "C" LIMIT (SELECT 1)
        ) IS NOT NULL
    ) found
    WHERE step.block IS NOT NULL
      AND (walk.matches < :most::bigint AND walk.read < :most_read::bigint
           OR step.block = steps.blocks[walk.number])
), found AS (
    SELECT walk.area, walk.query, one.* FROM walk
    CROSS JOIN LATERAL unnest(walk.positions, walk.places, walk.sizes, walk.found_statuses)
        AS one (position, place, size, status)
    ORDER BY one.position DESC LIMIT :most
), ranked AS (
    SELECT area, position, status, CASE
        WHEN sum(size) OVER (ORDER BY position DESC) <= :most_bytes::bigint
        THEN (SELECT ts_rank(words, query) FROM read_model.entry_search
              WHERE ctid = place AND workspace = :workspace)
        ELSE 0 END AS rank
    FROM found
)
SELECT (SELECT max(number) = (SELECT coalesce(cardinality(blocks), 0) FROM steps) AND max(matches) <= :most::bigint
        FROM walk) AS is_complete,
       EXISTS (SELECT FROM read_model.entry_search
               WHERE words IS NULL AND workspace = :workspace AND environment = :environment) AS has_unread,
       coalesce(array_agg(area), '{}') AS areas, coalesce(array_agg(position), '{}') AS positions,
       coalesce(array_agg(rank), '{}') AS ranks, coalesce(array_agg(status), '{}') AS statuses
FROM ranked
