-- $1 workspaces, $2 environments, $3 content type ids, $4 statuses, $5 languages, $6 positions, $7 until, $8 updated at, $9 lifetimes, $10 ids, $11 versions, $12 stage ids, $13 created at, $14 published at, $15 titles, $16 slugs
INSERT INTO past_version
    (workspace, environment, content_type_id, status, language, position, until, updated_at, lifetime,
     id, version, stage_id, created_at, published_at, title, slug)
SELECT * FROM unnest($1::text[], $2::text[], $3::uuid[], $4::text[], $5::text[], $6::bigint[],
                     $7::timestamptz[], $8::timestamptz[], $9::smallint[], $10::uuid[], $11::int[],
                     $12::text[], $13::timestamptz[], $14::timestamptz[], $15::text[], $16::text[])
