-- $1 new position, $2 stream, $3 version, $4 time of the event, $5 old position, $6 epoch, $7 notice
WITH moved AS (
    UPDATE checkpoint
    SET position = $1, originator_id = $2, originator_version = $3, happened_at = $4,
        moved_at = now()
    WHERE position = $5 AND epoch = $6
    RETURNING position
)
-- Readers read the live read model, so only that one notifies them.
SELECT CASE WHEN current_schema() = 'read_model'
            THEN pg_notify('contentlog_projected', $7) END, position
FROM moved
