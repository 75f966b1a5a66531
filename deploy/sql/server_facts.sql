-- no parameters
-- What a PostgreSQL server says about itself to any role. The size of a table of locks is that of all
-- sessions together; `connections` counts all databases. `waiting_segments`: the full segments of the
-- write-ahead log after the last one that was archived; null if none was. `connection_limit`: the lower of
-- the role's and the database's; null if neither has one.
SELECT current_setting('server_version_num')::int AS version_number,
       current_setting('server_version') AS version,
       current_user AS role,
       current_database() AS database,
       (SELECT rolsuper FROM pg_roles WHERE rolname = current_user) AS is_superuser,
       current_setting('server_encoding') AS encoding,
       current_setting('max_connections')::int AS max_connections,
       current_setting('superuser_reserved_connections')::int
           + coalesce(current_setting('reserved_connections', true)::int, 0) AS reserved_connections,
       (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')::int AS connections,
       (SELECT least(nullif(rolconnlimit, -1), nullif(datconnlimit, -1)) FROM pg_roles, pg_database
        WHERE rolname = current_user AND NOT rolsuper AND datname = current_database()) AS connection_limit,
       current_setting('max_locks_per_transaction')::int AS max_locks_per_transaction,
       coalesce(
           (SELECT max(split_part(setting, '=', 2))
            FROM pg_db_role_setting, unnest(setconfig) AS setting
            WHERE setting LIKE 'jit=%'
              AND setrole IN (0, current_user::regrole)
              AND setdatabase IN (0, (SELECT oid FROM pg_database WHERE datname = current_database()))),
           (SELECT reset_val FROM pg_settings WHERE name = 'jit')) AS jit_of_role,
       current_setting('fsync') AS fsync,
       current_setting('full_page_writes') AS full_page_writes,
       current_setting('synchronous_commit') AS synchronous_commit,
       current_setting('autovacuum') AS autovacuum,
       current_setting('data_checksums') AS data_checksums,
       current_setting('archive_mode') AS archive_mode,
       (SELECT setting::int FROM pg_settings WHERE name = 'archive_timeout') AS archive_timeout,
       (SELECT last_archived_time FROM pg_stat_archiver) AS last_archived,
       CASE WHEN NOT pg_is_in_recovery() THEN (
           -- A segment's name is its timeline and the two parts of its number, each of eight digits.
           SELECT (div(pg_current_wal_lsn() - '0/0', bytes) - 1
                   - ('x' || substr(last_archived_wal, 9, 8))::bit(32)::bigint * (4294967296 / bytes)
                   - ('x' || substr(last_archived_wal, 17, 8))::bit(32)::bigint)::int
           FROM pg_stat_archiver, pg_size_bytes(current_setting('wal_segment_size')) AS bytes
           WHERE last_archived_wal ~ '^[0-9A-F]{24}')
       END AS waiting_segments,
       (SELECT last_failed_time FROM pg_stat_archiver) AS last_failed,
       (SELECT count(*) FROM pg_stat_replication)::int AS standbys,
       pg_is_in_recovery() AS is_standby,
       clock_timestamp() AS now
