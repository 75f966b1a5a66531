-- $1 workspace, $2 environment, $3 type_id, $4 statuses, $5 languages, $6 positions, $7 bytes
\ir export/begin.sql
            -- An entry may have changed since it was found.
            SELECT e.* FROM unnest(:positions::bigint[]) AS page (position)
\ir rows/entry_at.sql
            WHERE e.content_type_id = :type_id AND e.status = ANY (:statuses::text[])
              AND e.language = ANY (:languages::text[])
            ORDER BY position DESC
\ir export/end.sql
