SELECT page.total,
\ir summary_columns.sql
FROM page
\ir entry.sql
\ir translation.sql
ORDER BY page.position DESC
