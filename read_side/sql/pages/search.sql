-- A page of the entries whose title contains a text, in the original language or in the locale. Only the
-- newest entries that match the other filters are searched; a filter that is null matches all entries.
-- Only one of the two branches runs, because the newest entries of one type are in another index.
WITH newest AS (
    (SELECT id, position, title FROM read_model.entry
     WHERE workspace = :workspace AND environment = :environment AND :type_slug::text IS NULL
       AND (:status::text IS NULL OR status = :status)
       AND (:language::text IS NULL OR language = :language)
     ORDER BY position DESC LIMIT :most)
    UNION ALL
    (SELECT e.id, e.position, e.title FROM read_model.content_type t
     CROSS JOIN LATERAL (
         SELECT id, position, title FROM read_model.entry
         WHERE workspace = :workspace AND environment = :environment AND content_type_id = t.id
           AND (:status::text IS NULL OR status = :status)
           AND (:language::text IS NULL OR language = :language)
         ORDER BY -position LIMIT :most
     ) e
     WHERE t.workspace = :workspace AND t.environment = :environment AND t.slug = :type_slug)
), matches AS MATERIALIZED (
    SELECT id, position FROM newest
    WHERE position(lower(:search) IN lower(title)) > 0 OR id IN (
        SELECT id FROM read_model.entry_locale
        WHERE workspace = :workspace AND locale = :locale
          AND partition_key IN (:environment || '/' || :locale, :environment || '/other')
          AND position(lower(:search) IN lower(title)) > 0)
)
SELECT totals.*, page.*
FROM (
    SELECT (SELECT count(*) FROM matches) AS total, (SELECT count(*) FROM newest) AS searched
) totals
LEFT JOIN LATERAL (
    SELECT id, position FROM matches
    ORDER BY position DESC LIMIT :limit OFFSET :offset
) page ON true
\ir ../rows/page_size.sql
