-- no parameters
UPDATE checkpoint SET epoch = epoch + 1
-- All columns: the caller checks the shape first, because another shape may have other columns.
RETURNING *
