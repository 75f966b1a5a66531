-- The time for an event: of this server, cut to milliseconds.

CREATE OR REPLACE FUNCTION write_side.clock() RETURNS timestamptz
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
    SELECT date_trunc('milliseconds', clock_timestamp())
$$;
