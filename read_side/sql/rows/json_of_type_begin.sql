-- One row: the number of entries in the list t, and a page of them as JSON: wire.ListedEntry. No row if there is
-- no such type. Between this file and json_of_type_end.sql: the entries, and their texts.
-- The entries come from an index in the order of their places, so nothing is sorted.
SELECT t.total,
\ir stamp.sql
listed.data
FROM shown CROSS JOIN t CROSS JOIN LATERAL (
SELECT
\ir json_begin.sql
|| ',"language":' || shown.language
\ir json_times.sql
\ir json_end.sql
FROM (
SELECT
\ir json_created_at.sql
,
\ir served_columns.sql
FROM (
