SELECT page.total,
\ir type_columns.sql
\ir served_columns.sql
FROM page
\ir entry.sql
LEFT JOIN read_model.content_type t
    ON t.workspace = :workspace AND t.environment = :environment AND t.id = e.content_type_id
\ir translation.sql
\ir size.sql
ORDER BY page.position DESC
