-- no parameters
-- The API's caches of keys and plans are told.
WITH raised AS (UPDATE write_side.access SET version = version + 1 RETURNING version)
SELECT pg_notify('contentlog_access', '') FROM raised
