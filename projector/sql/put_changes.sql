-- $1 workspaces, $2 environments, $3 positions, $4 kinds, $5 published, $6 content type ids, $7 content types, $8 entry ids, $9 slugs, $10 former slugs, $11 languages, $12 statuses, $13 versions, $14 at, $15 actors
INSERT INTO change
    (workspace, environment, position, kind, published, content_type_id, content_type, entry_id, slug,
     former_slug, language, status, version, at, actor)
SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::boolean[], $6::uuid[],
                     $7::text[], $8::uuid[], $9::text[], $10::text[], $11::text[], $12::text[],
                     $13::bigint[], $14::timestamptz[], $15::text[])
