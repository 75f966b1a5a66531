-- $1 workspace, $2 environment, $3 ids, $4 locale, $5 inline
-- A row for each id. If there is no such entry, all columns except the stamp are null.
SELECT
\ir rows/type_columns.sql
\ir rows/served_columns.sql
FROM unnest(:ids::uuid[]) AS page (id)
\ir rows/entry.sql
LEFT JOIN read_model.content_type t ON t.workspace = :workspace AND t.id = e.content_type_id
\ir rows/translation.sql
\ir rows/size.sql
