-- How long an uploaded file can be imported.

CREATE OR REPLACE FUNCTION write_side.upload_lifetime() RETURNS interval
LANGUAGE sql IMMUTABLE RETURN interval '24 hours';
