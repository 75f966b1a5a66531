-- The entry at each position of a page. LIMIT 1 forces a lookup by key in every plan.
LEFT JOIN LATERAL (
    SELECT * FROM read_model.entry
    WHERE workspace = :workspace AND environment = :environment AND position = page.position LIMIT 1
) e ON true
