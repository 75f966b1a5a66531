-- Where a page of one type's entries in one status and language begins: the index alone tells it. Within its
-- block of positions, the nearer end is searched from; greatest, because PostgreSQL checks the offset of the
-- other search too.
WITH list AS NOT MATERIALIZED (
\ir list_of_status.sql
)
\ir counted_list.sql
LEFT JOIN LATERAL (
    (
        SELECT position FROM read_model.entry
        WHERE workspace = :workspace AND environment = :environment
          AND content_type_id = list.content_type_id AND status = list.status
          AND language = list.language
          AND ~position > ~start.below AND :offset - start.skipped < start.through - :offset
        ORDER BY ~position LIMIT 1 OFFSET greatest(:offset - start.skipped, 0)
    ) UNION ALL (
        SELECT position FROM read_model.entry
        WHERE workspace = :workspace AND environment = :environment
          AND content_type_id = list.content_type_id AND status = list.status
          AND language = list.language
          AND ~position <= ~start.block AND :offset - start.skipped >= start.through - :offset
        ORDER BY ~position DESC LIMIT 1 OFFSET greatest(start.through - 1 - :offset, 0)
    )
) newest ON true
