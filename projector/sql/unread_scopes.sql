-- no parameters
SELECT DISTINCT workspace, environment FROM entry_search WHERE words IS NULL
