SELECT id::text, title, slug, status, language, created_at, updated_at, published_at, position,
       coalesce(stored, fields) AS stored
FROM (
    -- Pages by keyset. The first row of a page is read regardless of its size, so a page is never empty.
    SELECT *, sum(size) OVER newest - size AS bytes_before
    FROM (
        SELECT *, octet_length(title) + octet_length(slug) + octet_length(coalesce(stored, fields)) AS size
        FROM (
