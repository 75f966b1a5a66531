-- Where a page begins: before position `below`, after `skipped` entries, and within the first `through`, in the
-- block that begins at position `block`. Whole blocks are skipped by their counts, newest first: the largest
-- ones, then smaller ones within the next of these. No row if the offset is past the end. Between this file
-- and descent_end.sql: block and n of the blocks of a level.
WITH RECURSIVE descent AS (
    SELECT 0 AS level, 0::bigint AS block, 9223372036854775807 AS below, 0::bigint AS skipped,
           0::bigint AS through
    UNION ALL
    SELECT upper.level + 1, next.block, next.below, next.skipped, next.through
    FROM descent upper
    CROSS JOIN LATERAL (
        SELECT block, below, through - n AS skipped, through FROM (
            SELECT block, n, lag(block, 1, upper.below) OVER newest_first AS below,
                   upper.skipped + sum(n::int) OVER newest_first AS through
            FROM (
