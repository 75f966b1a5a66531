-- $1 translations, $2 partitions
-- A locale with this many translations but without its own partition, if the environment may have another.
SELECT c.environment, c.locale
FROM (SELECT environment, locale, sum(n) AS n FROM locale_count GROUP BY environment, locale) c
LEFT JOIN locale_partition p ON (p.environment, p.locale) = (c.environment, c.locale)
WHERE c.n >= $1 AND p.locale IS NULL
  AND (SELECT count(*) FROM locale_partition p WHERE p.environment = c.environment) < $2
ORDER BY c.n DESC LIMIT 1
