-- $1 workspaces, $2 environments, $3 positions, $4 locales, $5 statuses, $6 words
INSERT INTO entry_search (workspace, environment, position, locale, status, words)
SELECT workspace, environment, position, locale, status, words::tsvector
FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[])
    AS given (workspace, environment, position, locale, status, words)
