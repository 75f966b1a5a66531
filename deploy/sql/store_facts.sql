-- no parameters
-- What the runtime role may do to events, and whether it owns them.
SELECT has_table_privilege('write_side.event', 'UPDATE') OR has_table_privilege('write_side.event', 'DELETE')
           AS may_change_events,
       (SELECT relowner = current_user::regrole FROM pg_class WHERE oid = 'write_side.event'::regclass)
           AS owns_events,
       (SELECT max(version) FROM write_side.schema_version) AS schema_version
