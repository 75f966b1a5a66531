-- A page of one type's entries in one status and language, at any offset. Their texts are joined to it.
WITH t AS (
\ir ../pages/of_status.sql
)
SELECT t.total,
\ir served_columns.sql
FROM t
LEFT JOIN LATERAL (
\ir of_status.sql
) e ON true
