-- Bytes of an entry's texts; a slug is short.
CROSS JOIN LATERAL (
    SELECT octet_length(coalesce(l.title, e.title)) + octet_length(coalesce(l.fields, e.fields)) AS size
) served
