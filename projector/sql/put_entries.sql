-- $1 workspaces, $2 environments, $3 ids, $4 content type ids, $5 slugs, $6 slug hashes, $7 titles, $8 statuses, $9 languages, $10 stage ids, $11 stages, $12 published at, $13 created at, $14 updated at, $15 positions, $16 versions, $17 type versions, $18 stored, $19 translations, $20 fields
INSERT INTO entry AS e (
    workspace, environment, id, content_type_id, slug, slug_hash, title, status, language,
    stage_id, stage, published_at, created_at, updated_at, position, version, type_version,
    stored, translations, fields
)
SELECT * FROM unnest(
    $1::text[], $2::text[], $3::uuid[], $4::uuid[], $5::text[], $6::bytea[], $7::text[], $8::text[],
    $9::text[], $10::text[], $11::json[], $12::timestamptz[], $13::timestamptz[],
    $14::timestamptz[], $15::bigint[], $16::bigint[], $17::bigint[], $18::json[], $19::json[],
    $20::json[]
)
ON CONFLICT (workspace, environment, id) DO UPDATE SET
    slug = excluded.slug, slug_hash = excluded.slug_hash, title = excluded.title,
    status = excluded.status, stage_id = excluded.stage_id, stage = excluded.stage,
    published_at = excluded.published_at, updated_at = excluded.updated_at,
    version = excluded.version, type_version = excluded.type_version, stored = excluded.stored,
    translations = excluded.translations, fields = excluded.fields
