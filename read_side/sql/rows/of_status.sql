-- The entries of a page t, from its first one on: the index has them one after another.
SELECT * FROM (
    SELECT *, ~position AS place FROM read_model.entry
    WHERE workspace = :workspace AND environment = :environment
      AND content_type_id = t.content_type_id AND status = t.status AND language = t.language
      AND ~position >= ~t.position
    ORDER BY ~position LIMIT :limit
) page ORDER BY place
\ir page_size.sql
