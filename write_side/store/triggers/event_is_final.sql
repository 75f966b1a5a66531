-- Per statement, so an append does not call it.

CREATE TRIGGER event_is_final BEFORE UPDATE OR DELETE OR TRUNCATE ON write_side.event
    FOR EACH STATEMENT EXECUTE FUNCTION write_side.refuse_change();
