-- $1 sizes of blocks, by level
-- Counts all entries, for a read model that has no counts yet. The rows are those of rows.py.
INSERT INTO entry_count (workspace, environment, filters, level, content_type_id, status, language, block, n)
WITH counted AS MATERIALIZED (
    SELECT workspace, environment, content_type_id, status, language,
           position - position % smallest AS position, count(*) AS n
    FROM entry CROSS JOIN (SELECT min(size) AS smallest FROM unnest($1::bigint[]) AS size) sizes
    GROUP BY 1, 2, 3, 4, 5, 6
)
SELECT workspace, environment, list.filters, level - 1, list.type_id, list.status, list.language,
       position - position % size, sum(n)
FROM counted
CROSS JOIN LATERAL (
    VALUES (0, '00000000-0000-0000-0000-000000000000'::uuid, '', ''),
           (1, content_type_id, '', ''),
           (3, content_type_id, counted.status, counted.language)
) AS list (filters, type_id, status, language)
CROSS JOIN unnest($1::bigint[]) WITH ORDINALITY AS levels (size, level)
GROUP BY 1, 2, 3, 4, 5, 6, 7, 8
-- A page reads the counts of neighbouring blocks: together, they are on few pages of the table.
ORDER BY 1, 2, 3, 4, 5, 6, 7, 8
