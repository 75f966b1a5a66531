-- $1 workspace, $2 media ids
-- One row of nulls, but for the stamp, where there is no such file.
SELECT checkpoint.stamp, file.id, file.name, file.url, file.content_type
FROM (
SELECT
\ir rows/stamp.sql
true AS one
) AS checkpoint
LEFT JOIN read_model.media file ON file.workspace = $1 AND file.id = ANY ($2)
