-- $1 workspace, $2 environment, $3 types (slugs; none: all), $4 hashes (of slugs)
-- A separate statement: "$5 IS NULL OR e.language = $5" could not use the index's last column.
\ir claims/entries_with_slugs.sql
