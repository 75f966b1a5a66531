-- $1 workspace, $2 environment, $3 types (slugs; none: all), $4 hashes (of slugs), $5 language
\ir claims/entries_with_slugs.sql
  AND e.language = $5
