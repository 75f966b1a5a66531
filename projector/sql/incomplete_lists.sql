-- no parameters
SELECT t.workspace, t.environment, t.id::text, c.status, c.language, path
FROM indexing i
JOIN content_type t ON (t.workspace, t.id) = (i.workspace, i.content_type_id)
JOIN entry_count c ON (c.workspace, c.environment, c.filters, c.level, c.content_type_id)
                    = (t.workspace, t.environment, 3, 0, t.id)
CROSS JOIN unnest(i.paths) AS path
