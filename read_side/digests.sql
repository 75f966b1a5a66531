-- A hash of each row, to compare a rebuilt read model with the live one. It covers stored values, not
-- their renderings, nor the partition that a row is in. `key` identifies the row. Rows are grouped into buckets, so that only the rows of
-- buckets that differ are transferred.
CREATE VIEW digest AS
SELECT 'entry' AS relation, workspace,
       jsonb_build_array(workspace, environment, id)::text AS key,
       abs(hash_record_extended(ROW(workspace, environment, id), 0) % 4096) AS bucket,
       hash_record_extended(ROW(
           workspace, environment, id, content_type_id, slug, slug_hash, slug_since, title, status,
           language, stage_id, published_at, created_at, updated_at, position, version,
           coalesce(stored, fields), translations::text), 0) AS hash
FROM entry
UNION ALL
SELECT 'entry_value', workspace,
       jsonb_build_array(workspace, environment, position, list, encode(key, 'hex'))::text,
       abs(hash_record_extended(ROW(workspace, environment, position), 0) % 4096),
       hash_record_extended(ROW(workspace, environment, position, list, key), 0)
FROM entry_value
UNION ALL
SELECT 'entry_locale', workspace,
       jsonb_build_array(workspace, split_part(partition_key, '/', 1), locale, id)::text,
       abs(hash_record_extended(ROW(workspace, locale, id), 0) % 4096),
       hash_record_extended(ROW(workspace, split_part(partition_key, '/', 1), locale, id, title), 0)
FROM entry_locale
UNION ALL
SELECT 'entry_search', workspace, jsonb_build_array(workspace, environment, position, locale)::text,
       abs(hash_record_extended(ROW(workspace, environment, position), 0) % 4096),
       hash_record_extended(ROW(workspace, environment, position, locale, status, words::text), 0)
FROM entry_search
UNION ALL
SELECT 'locale_count', workspace, jsonb_build_array(workspace, environment, locale, status)::text, 0,
       hash_record_extended(ROW(workspace, environment, locale, status, n), 0)
FROM locale_count
UNION ALL
SELECT 'entry_count', workspace,
       jsonb_build_array(
           workspace, environment, filters, level, content_type_id, status, language, block)::text,
       abs(hash_record_extended(ROW(workspace, environment, block), 0) % 4096),
       hash_record_extended(ROW(
           workspace, environment, filters, level, content_type_id, status, language, block, n), 0)
FROM entry_count
UNION ALL
SELECT 'past_slug', workspace,
       jsonb_build_array(workspace, environment, position)::text,
       abs(hash_record_extended(ROW(workspace, environment, position), 0) % 4096),
       hash_record_extended(ROW(
           workspace, environment, position, content_type_id, language, slug_hash, id, since,
           until), 0)
FROM past_slug
UNION ALL
SELECT 'past_type', workspace,
       jsonb_build_array(workspace, environment, slug, position)::text,
       0,
       hash_record_extended(ROW(workspace, environment, slug, position, id, since, until), 0)
FROM past_type
UNION ALL
SELECT 'past_version', workspace,
       jsonb_build_array(workspace, environment, position, until)::text,
       abs(hash_record_extended(ROW(workspace, environment, position), 0) % 4096),
       hash_record_extended(ROW(
           workspace, environment, content_type_id, status, language, position, until, updated_at,
           lifetime, id, version, stage_id, created_at, published_at, title, slug), 0)
FROM past_version
UNION ALL
SELECT 'change', workspace,
       jsonb_build_array(workspace, environment, position)::text,
       abs(hash_record_extended(ROW(workspace, environment, position), 0) % 4096),
       hash_record_extended(ROW(
           workspace, environment, position, kind, published, content_type_id, content_type, entry_id,
           slug, former_slug, language, status, version, at, actor), 0)
FROM change
UNION ALL
SELECT 'content_type', workspace,
       jsonb_build_array(workspace, environment, slug)::text,
       0,
       hash_record_extended(ROW(
           id, workspace, environment, slug, name, fields::text, stages::text, version, created_at,
           updated_at), 0)
FROM content_type
UNION ALL
SELECT 'workspace', slug, jsonb_build_array(slug)::text, 0,
       hash_record_extended(ROW(slug, name), 0)
FROM workspace
UNION ALL
SELECT 'media', workspace, jsonb_build_array(workspace, id)::text, 0,
       hash_record_extended(ROW(workspace, id, url, name, content_type), 0)
FROM media
UNION ALL
SELECT 'webhook', workspace, jsonb_build_array(workspace, name)::text, 0,
       hash_record_extended(ROW(
           workspace, name, url, environment, types, events, include_entry, created, position, off,
           changed_at), 0)
FROM webhook
UNION ALL
SELECT 'import_run', workspace, jsonb_build_array(workspace, id)::text, 0,
       hash_record_extended(ROW(
           id, workspace, environment, content_type_id, file_name, created, updated, unchanged,
           skipped, failed, imported_by, imported_at, reverted_at), 0)
FROM import_run;
