-- The entries of one type: wire.ListedEntry.
\ir json_begin.sql
',"language":', to_json(e.language),
\ir json_times.sql
\ir json_end.sql
