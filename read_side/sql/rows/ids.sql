SELECT page.total,
\ir stamp.sql
page.id::text FROM page ORDER BY page.created_at DESC, page.position DESC
