-- Bytes of an entry's texts; a slug is short.
CROSS JOIN LATERAL (
    SELECT octet_length(coalesce(l.title, e.title)) + octet_length(coalesce(l.fields, e.fields))
           + coalesce(octet_length(l.texts), 0) AS size
) served
