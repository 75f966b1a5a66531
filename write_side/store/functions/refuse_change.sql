-- Refuses a statement that changes events, even one of the owner. deploy/docs/operations.md says how to
-- erase content from the log.

CREATE OR REPLACE FUNCTION write_side.refuse_change() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION 'events are never changed or deleted: % of write_side.event', TG_OP
        USING ERRCODE = 'restrict_violation',
              HINT = 'See "Erase content from the log" in deploy/docs/operations.md.';
END
$$;
