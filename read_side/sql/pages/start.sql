-- Where a page of the lists in `list` begins, which are merged if there are several: before position
-- `below`, after `skipped` entries. Whole blocks of positions are skipped by their counts, newest first:
-- the largest ones, then smaller ones within the next of these. No row if the offset is past the end.
WITH RECURSIVE descent AS (
    SELECT 0 AS level, 0::bigint AS block, 9223372036854775807 AS below, 0::bigint AS skipped
    UNION ALL
    SELECT upper.level + 1, next.block, next.below, next.skipped
    FROM descent upper
    CROSS JOIN LATERAL (
        SELECT block, below, skipped FROM (
            SELECT c.block, coalesce(min(c.block) OVER newer, upper.below) AS below,
                   upper.skipped + coalesce(sum(c.n::int) OVER newer, 0) AS skipped,
                   upper.skipped + sum(c.n::int) OVER (ORDER BY c.block DESC) AS through
            FROM list
            CROSS JOIN LATERAL (
                SELECT block, n FROM read_model.entry_count
                WHERE workspace = :workspace AND environment = :environment AND filters = list.filters
                  AND level = upper.level + 1 AND content_type_id = list.content_type_id
                  AND status = list.status AND language = list.language
                  AND block >= upper.block AND block < upper.below
            ) c
            WINDOW newer AS (ORDER BY c.block DESC GROUPS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
        ) counted
        WHERE through > :offset ORDER BY block DESC LIMIT 1
    ) next
)
SELECT below, skipped FROM descent WHERE level > 0 ORDER BY level DESC LIMIT 1
