SELECT page.total, page.id::text FROM page ORDER BY page.position DESC
