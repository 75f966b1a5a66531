-- $1 workspaces, $2 environments, $3 positions, $4 content type ids, $5 languages, $6 slug hashes, $7 ids, $8 since, $9 until
INSERT INTO past_slug
    (workspace, environment, position, content_type_id, language, slug_hash, id, since, until)
SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::uuid[], $5::text[], $6::bytea[],
                     $7::uuid[], $8::timestamptz[], $9::timestamptz[])
