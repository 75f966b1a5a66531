-- $1 workspace, $2 environment
-- The next environment that has texts without words, by which workspaces take turns.
(SELECT workspace, environment FROM entry_search
 WHERE words IS NULL AND (workspace, environment) > ($1, $2) ORDER BY workspace, environment LIMIT 1)
UNION ALL
(SELECT workspace, environment FROM entry_search
 WHERE words IS NULL ORDER BY workspace, environment LIMIT 1)
LIMIT 1
