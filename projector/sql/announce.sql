-- $1 notice
-- On Citus, after the commit of what is announced.
SELECT CASE WHEN current_schema() = 'read_model' THEN pg_notify('contentlog_projected', $1) END
