kinds AS MATERIALIZED (
    SELECT * FROM unnest(:types::uuid[], :statuses::text[], :languages::text[])
        WITH ORDINALITY AS k(content_type_id, status, language, kind)
)
