INSERT INTO entry AS e (
    workspace, environment, id, content_type_id, slug, slug_hash, slug_since, title, status,
    language, stage_id, stage, published_at, created_at, updated_at, position, version,
    type_version, stored, translations, fields
)
SELECT * FROM unnest(
    :workspaces::text[], :environments::text[], :ids::uuid[], :type_ids::uuid[], :slugs::text[],
    :slug_hashes::bytea[], :slugs_since::timestamptz[], :titles::text[], :statuses::text[],
    :languages::text[], :stage_ids::text[], :stages::json[], :published_at::timestamptz[],
    :created_at::timestamptz[], :updated_at::timestamptz[], :positions::bigint[], :versions::bigint[],
    :type_versions::bigint[], :stored::text[], :translations::json[], :fields::text[]
)
