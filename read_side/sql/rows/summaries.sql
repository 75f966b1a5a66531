SELECT page.total,
\ir stamp.sql
\ir summary_columns.sql
FROM page
\ir entry.sql
\ir translation.sql
ORDER BY page.position DESC
