-- $1 workspace, $2 environment
-- The next environment after this one that has texts without words: environments take turns.
(SELECT workspace, environment FROM entry_search
 WHERE words IS NULL AND (workspace, environment) > ($1, $2) ORDER BY workspace, environment LIMIT 1)
UNION ALL
(SELECT workspace, environment FROM entry_search
 WHERE words IS NULL ORDER BY workspace, environment LIMIT 1)
LIMIT 1
