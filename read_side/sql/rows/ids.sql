SELECT page.total,
\ir stamp.sql
page.id::text FROM page ORDER BY page.position DESC
