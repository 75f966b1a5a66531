-- The time for an event: of this server, cut to milliseconds.

CREATE OR REPLACE FUNCTION write_side.clock() RETURNS timestamptz
LANGUAGE sql VOLATILE RETURN date_trunc('milliseconds', clock_timestamp());
