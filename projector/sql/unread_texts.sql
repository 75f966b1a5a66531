-- no parameters
-- Their keys, as in digest.
SELECT jsonb_build_array(workspace, environment, position, locale)::text FROM entry_search WHERE words IS NULL
