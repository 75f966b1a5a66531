-- If another process has moved the checkpoint or begun an epoch, the position is null. The column refuses
-- that, which also undoes what else the statement does.
UPDATE checkpoint
SET position = CASE WHEN position = :old AND epoch = :epoch THEN :position::bigint END,
    originator_id = :stream, originator_version = :version, happened_at = :at, moved_at = now()
