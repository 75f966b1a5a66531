-- $1 workspaces, $2 environments, $3 filters, $4 levels, $5 content type ids, $6 statuses, $7 languages, $8 blocks, $9 changes
-- A count of 0 has no row, so that the rows do not depend on how the log was batched.
DELETE FROM entry_count c
USING unnest($1::text[], $2::text[], $3::smallint[], $4::smallint[], $5::uuid[], $6::text[], $7::text[],
            $8::bigint[], $9::bigint[])
    AS d (workspace, environment, filters, level, content_type_id, status, language, block, n)
WHERE (c.workspace, c.environment, c.filters, c.level, c.content_type_id, c.status, c.language, c.block)
    = (d.workspace, d.environment, d.filters, d.level, d.content_type_id, d.status, d.language, d.block)
  AND c.n + d.n = 0 AND c.workspace = ANY ($1::text[] COLLATE "C")
