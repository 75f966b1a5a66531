-- $1 workspaces, $2 environments, $3 filters, $4 levels, $5 content type ids, $6 statuses, $7 languages, $8 blocks, $9 changes
INSERT INTO entry_count AS c
    (workspace, environment, filters, level, content_type_id, status, language, block, n)
SELECT * FROM unnest($1::text[], $2::text[], $3::smallint[], $4::smallint[], $5::uuid[], $6::text[],
                     $7::text[], $8::bigint[], $9::bigint[])
ON CONFLICT (workspace, environment, filters, level, content_type_id, status, language, block)
DO UPDATE SET n = c.n + excluded.n
