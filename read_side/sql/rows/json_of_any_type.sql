-- One row: the number of entries, and a page of them as JSON: wire.AnyEntry. No row if there is no page.
SELECT min(e.total) AS total, min(e.stamp) AS stamp,
\ir json_begin.sql
\ir json_times.sql
|| ',"contentType":{"id":"' || e.type_id || '","name":' || to_json(e.type_name)::text || ',"slug":'
|| to_json(e.type_slug)::text || '}'
\ir json_end.sql
FROM (
SELECT *,
\ir json_created_at.sql
FROM listed e OFFSET 0
) e CROSS JOIN shown
HAVING count(*) > 0
