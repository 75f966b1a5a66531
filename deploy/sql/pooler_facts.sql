-- no parameters
-- What has to be the same for a connection through a pooler and one past it, and what a pooler cannot ask
-- for. `database` and `started` are the same for connections to one database. `process` is that of the session.
SELECT current_database() AS database,
       current_user AS role,
       pg_postmaster_start_time() AS started,
       current_setting('jit') AS jit,
       pg_backend_pid() AS process
