-- The entry for each id of a page. LIMIT 1 forces a lookup by key in every plan.
LEFT JOIN LATERAL (
    SELECT * FROM read_model.entry
    WHERE workspace = :workspace AND environment = :environment AND id = page.id LIMIT 1
) e ON true
