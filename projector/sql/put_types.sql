-- $1 ids, $2 slugs, $3 names, $4 fields, $5 stages, $6 created at, $7 updated at, $8 workspaces, $9 environments, $10 versions
INSERT INTO content_type
    (id, slug, name, fields, stages, created_at, updated_at, workspace, environment, version)
SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::json[], $5::json[], $6::timestamptz[],
                     $7::timestamptz[], $8::text[], $9::text[], $10::bigint[])
ON CONFLICT (id, workspace) DO UPDATE SET
    name = excluded.name, fields = excluded.fields, stages = excluded.stages,
    version = excluded.version, updated_at = excluded.updated_at
