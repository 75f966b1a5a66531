-- One row: the array of a page's entries e as bytes of JSON, without its brackets. It is null if an entry
-- is not ready to serve, or larger than :inline. No row if there is no page. Each member is written as
-- api/rest/wire.py does. Times lose their microseconds.
SELECT min(e.total) AS total, min(e.stamp) AS stamp,
CASE WHEN bool_and(e.fields IS NOT NULL OR e.id IS NULL) THEN convert_to(coalesce(string_agg(concat(
'{"id":"', e.id, '","title":', to_json(e.title), ',"slug":', to_json(e.slug), ',"status":"', e.status,
'","stage":', coalesce(e.stage, 'null'),
