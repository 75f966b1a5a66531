-- no parameters
UPDATE checkpoint SET epoch = epoch + 1
-- All there is: who reads it looks at the shape first, and may find other columns than its own.
RETURNING *
