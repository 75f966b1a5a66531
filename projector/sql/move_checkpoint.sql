-- $1 position, $2 stream, $3 version, $4 at, $5 old, $6 epoch, $7 notice
\ir shared/move_checkpoint.sql
-- Readers read the live read model, so only that one notifies them.
RETURNING CASE WHEN current_schema() = 'read_model' THEN pg_notify('contentlog_projected', :notice) END
