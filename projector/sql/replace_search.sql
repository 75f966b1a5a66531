-- $1 workspaces, $2 environments, $3 positions, $4 locales, $5 statuses, $6 words
UPDATE entry_search s SET status = given.status, words = given.words::tsvector
FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[])
    AS given (workspace, environment, position, locale, status, words)
WHERE (s.workspace, s.environment, s.position, s.locale)
    = (given.workspace, given.environment, given.position, given.locale)
  AND s.workspace = ANY ($1::text[] COLLATE "C")
