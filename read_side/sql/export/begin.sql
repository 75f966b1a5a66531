SELECT id::text, title, slug, status, language, created_at, updated_at, published_at, position, stored
FROM (
    -- Pages by keyset. The first row of a page is read regardless of its size, so a page is never empty.
    SELECT *, sum(size) OVER newest - size AS bytes_before
    FROM (
        SELECT *, octet_length(title) + octet_length(slug) + octet_length(stored::text) AS size
        FROM (
            -- To get the size of a value, PostgreSQL must decompress it. Rows that exceed the bound even
            -- when compressed are therefore dropped first.
            SELECT *, sum(pg_column_size(stored)) OVER newest - pg_column_size(stored) AS packed_before
            FROM (
