-- $1 workspace, $2 environment, $3 after, $4 limit
WITH page AS (
    SELECT position FROM read_model.change
    WHERE workspace = :workspace AND environment = :environment AND position > :after
    ORDER BY position LIMIT least(:limit::bigint, 501)
), previous AS (
    SELECT position FROM read_model.change
    WHERE workspace = :workspace AND environment = :environment AND position <= :after
    ORDER BY position DESC LIMIT 1
)
\ir rows/changes.sql
