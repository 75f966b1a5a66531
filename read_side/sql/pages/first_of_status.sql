-- For the first pages of one type's entries in one status and language, which are the most frequent read.
WITH list AS NOT MATERIALIZED (
\ir list_of_status.sql
)
SELECT coalesce(counted.n, 0) AS total, list.*
FROM list
\ir total.sql
