-- $1 workspace, $2 environment, $3 content type id, $4 paths
INSERT INTO indexing AS i (workspace, content_type_id, paths)
SELECT $1, $3, $4::text[]
WHERE EXISTS (
    SELECT FROM entry WHERE workspace = $1 AND environment = $2 AND content_type_id = $3
)
ON CONFLICT (content_type_id, workspace) DO UPDATE SET
    paths = (SELECT array_agg(DISTINCT path ORDER BY path) FROM unnest(i.paths || excluded.paths) AS path),
    position = NULL
