-- $1 new position, $2 stream, $3 version, $4 time of the event, $5 old position, $6 epoch, $7 notice
-- If another process has moved the checkpoint or begun an epoch, the position is null. The column refuses
-- that, which also undoes what else the statement does.
UPDATE checkpoint
SET position = CASE WHEN position = $5 AND epoch = $6 THEN $1::bigint END,
    originator_id = $2, originator_version = $3, happened_at = $4, moved_at = now()
-- Readers read the live read model, so only that one notifies them.
RETURNING CASE WHEN current_schema() = 'read_model' THEN pg_notify('contentlog_projected', $7) END
