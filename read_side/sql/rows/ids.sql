SELECT page.total, page.id::text FROM page ORDER BY page.created_at DESC, page.position DESC
