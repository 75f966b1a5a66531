',"fields":', e.fields, '}'), ',') FILTER (WHERE e.id IS NOT NULL), ''), 'UTF8') END AS data
FROM listed e CROSS JOIN shown
HAVING count(*) > 0
