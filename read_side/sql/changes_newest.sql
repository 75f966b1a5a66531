-- $1 workspace, $2 environment, $3 before, $4 limit
SELECT position, kind, published, content_type_id::text, content_type, entry_id::text, slug, former_slug,
       language, status, version, at, actor
FROM read_model.change
WHERE workspace = :workspace AND environment = :environment AND position < :before
ORDER BY position DESC LIMIT least(:limit::bigint, 501)
