-- no parameters
UPDATE checkpoint SET epoch = epoch + 1
RETURNING position, epoch, originator_id, originator_version, shape
