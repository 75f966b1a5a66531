-- The array of a page's entries e as bytes of JSON, without its brackets. It is null if an entry is not ready
-- to serve, or larger than :inline. Each member is written as api/rest/wire.py does. For short texts, || takes
-- less than half the instructions of concat.
CASE WHEN coalesce(bool_and(e.fields IS NOT NULL OR e.id IS NULL), true) THEN convert_to(coalesce(string_agg(
'{"id":"' || e.id || '","title":' || to_json(e.title)::text || ',"slug":' || to_json(e.slug)::text
|| ',"status":"' || e.status || '","stage":' || coalesce(e.stage::text, 'null')
