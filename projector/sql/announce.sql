-- $1 epoch, $2 position, $3 notice
-- On Citus, after the commit of what is announced. A projector that was paused may come too late.
UPDATE projector.announced SET epoch = $1, position = $2
WHERE (epoch, position) < ($1, $2) AND current_schema() = 'read_model'
-- The next projector announces again what a crash of PostgreSQL takes back.
RETURNING set_config('synchronous_commit', 'off', true), pg_notify('contentlog_projected', $3)
