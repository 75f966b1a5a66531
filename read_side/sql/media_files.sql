-- $1 workspace, $2 media ids
-- If there is no such file, one row in which all columns except the stamp are null.
SELECT checkpoint.stamp, file.id, file.name, file.url, file.content_type
FROM (
SELECT
\ir rows/stamp.sql
true AS one
) AS checkpoint
LEFT JOIN read_model.media file ON file.workspace = $1 AND file.id = ANY ($2)
