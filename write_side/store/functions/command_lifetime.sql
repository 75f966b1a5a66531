-- How long a command's key is valid. An import's is valid forever.

CREATE OR REPLACE FUNCTION write_side.command_lifetime() RETURNS interval
LANGUAGE sql IMMUTABLE RETURN interval '24 hours';
