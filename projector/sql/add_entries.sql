-- $1 workspaces, $2 environments, $3 ids, $4 type_ids, $5 slugs, $6 slug_hashes, $7 slugs_since, $8 titles, $9 statuses, $10 languages, $11 stage_ids, $12 stages, $13 published_at, $14 created_at, $15 updated_at, $16 positions, $17 versions, $18 type_versions, $19 stored, $20 translations, $21 fields
-- New ones, which need not be looked for.
\ir shared/add_entries.sql
