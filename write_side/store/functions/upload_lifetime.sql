-- How long an uploaded file can be imported.

CREATE OR REPLACE FUNCTION write_side.upload_lifetime() RETURNS interval
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT interval '24 hours'
$$;
