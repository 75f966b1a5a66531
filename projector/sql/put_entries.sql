-- $1 workspaces, $2 environments, $3 ids, $4 type_ids, $5 slugs, $6 slug_hashes, $7 slugs_since, $8 titles, $9 statuses, $10 languages, $11 stage_ids, $12 stages, $13 published_at, $14 created_at, $15 updated_at, $16 positions, $17 versions, $18 type_versions, $19 stored, $20 translations, $21 fields
\ir shared/add_entries.sql
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
