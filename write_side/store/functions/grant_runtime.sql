-- Lets a role run contentlog: append through write_side.append, read everything, and write what is not
-- derived from the log. It may not change events or claims.

CREATE OR REPLACE FUNCTION write_side.grant_runtime(role name) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    EXECUTE format('GRANT USAGE ON SCHEMA write_side TO %I', role);
    EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA write_side TO %I', role);
    -- UPDATE, to lock the rows that are deleted.
    EXECUTE format('GRANT UPDATE, DELETE ON write_side.command TO %I', role);
    EXECUTE format(
        'GRANT INSERT, UPDATE, DELETE ON write_side.staged_event, write_side.rate_limit, '
        'write_side.dashboard_session, write_side.upload, write_side.entry_snapshot, '
        'write_side.key_use, write_side.import_job, write_side.webhook_cursor, '
        'write_side.webhook_delivery TO %I', role);
    -- To erase expired secrets.
    EXECUTE format('GRANT DELETE ON write_side.webhook_secret TO %I', role);
    EXECUTE format('GRANT EXECUTE ON FUNCTION write_side.append TO %I', role);
END
$$;
REVOKE ALL ON FUNCTION write_side.grant_runtime FROM PUBLIC;
