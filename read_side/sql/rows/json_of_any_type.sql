-- Entries of any type: wire.AnyEntry.
\ir json_begin.sql
\ir json_times.sql
',"contentType":{"id":"', e.type_id, '","name":', to_json(e.type_name), ',"slug":', to_json(e.type_slug), '}',
\ir json_end.sql
