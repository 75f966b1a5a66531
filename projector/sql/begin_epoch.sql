-- no parameters
UPDATE checkpoint SET epoch = epoch + 1
-- All columns: the caller checks the shape first, because a different shape may have other columns.
RETURNING *
