-- The entry of each id of a page. LIMIT 1 makes every plan fetch it by its key.
LEFT JOIN LATERAL (
    SELECT * FROM read_model.entry
    WHERE workspace = :workspace AND environment = :environment AND id = page.id LIMIT 1
) e ON true
