-- $1 workspaces, $2 environments, $3 ids, $4 content type ids, $5 slugs, $6 slug hashes, $7 slugs since, $8 titles, $9 statuses, $10 languages, $11 stage ids, $12 stages, $13 published at, $14 created at, $15 updated at, $16 positions, $17 versions, $18 type versions, $19 stored, $20 translations, $21 fields
INSERT INTO entry AS e (
    workspace, environment, id, content_type_id, slug, slug_hash, slug_since, title, status,
    language, stage_id, stage, published_at, created_at, updated_at, position, version,
    type_version, stored, translations, fields
)
SELECT * FROM unnest(
    $1::text[], $2::text[], $3::uuid[], $4::uuid[], $5::text[], $6::bytea[], $7::timestamptz[],
    $8::text[], $9::text[], $10::text[], $11::text[], $12::json[], $13::timestamptz[],
    $14::timestamptz[], $15::timestamptz[], $16::bigint[], $17::bigint[], $18::bigint[],
    $19::json[], $20::json[], $21::text[]
)
ON CONFLICT (workspace, environment, id) DO UPDATE SET
    slug = excluded.slug, slug_hash = excluded.slug_hash, slug_since = excluded.slug_since,
    title = excluded.title, status = excluded.status, stage_id = excluded.stage_id,
    stage = excluded.stage, published_at = excluded.published_at,
    updated_at = excluded.updated_at, version = excluded.version,
    type_version = excluded.type_version, stored = excluded.stored,
    -- JSON's null means unchanged translations.
    translations = CASE WHEN excluded.translations::text = 'null'
        THEN e.translations ELSE excluded.translations END,
    fields = excluded.fields
