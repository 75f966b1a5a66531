-- $1 workspace, $2 environment, $3 limit
-- The oldest texts without words. A batch that changes one of them waits for the end of the transaction;
-- one that is being changed is left out.
SELECT position, locale FROM entry_search
WHERE words IS NULL AND workspace = $1 AND environment = $2
ORDER BY position LIMIT $3 FOR UPDATE SKIP LOCKED
