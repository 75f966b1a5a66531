-- $1 translations, $2 partitions
-- A locale with this many translations but without its own partition, if the environment may have another.
SELECT c.environment, c.locale
FROM locale_count c
WHERE (SELECT count(*) FROM locale_partition p WHERE p.environment = c.environment) < $2
GROUP BY c.environment, c.locale
HAVING sum(c.n) >= $1 AND NOT EXISTS (
    SELECT FROM locale_partition p WHERE (p.environment, p.locale) = (c.environment, c.locale))
ORDER BY sum(c.n) DESC LIMIT 1
