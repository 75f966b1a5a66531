-- $1 ids, $2 workspaces, $3 environments, $4 slugs, $5 names, $6 fields, $7 stages, $8 versions, $9 created at, $10 updated at
INSERT INTO content_type
    (id, workspace, environment, slug, name, fields, stages, version, created_at, updated_at)
SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::json[],
                     $7::json[], $8::bigint[], $9::timestamptz[], $10::timestamptz[])
ON CONFLICT (id, workspace) DO UPDATE SET
    name = excluded.name, fields = excluded.fields, stages = excluded.stages,
    version = excluded.version, updated_at = excluded.updated_at
