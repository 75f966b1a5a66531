-- $1 workspace, $2 environment, $3 limit, $4 offset, $5 type_slug, $6 status, $7 language, $8 locale, $9 inline
\ir rows/deep_of_status.sql
\ir rows/translation.sql
\ir rows/size.sql
ORDER BY e.place
