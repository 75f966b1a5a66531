-- Leases the oldest unclaimed import to a worker. A workspace has one import running at a time, in
-- the order in which they were accepted.

CREATE OR REPLACE FUNCTION write_side.claim_import_job(
    new_worker uuid, lease_seconds double precision
) RETURNS SETOF write_side.import_job
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('write_side.import_job', 0));
    RETURN QUERY
    UPDATE write_side.import_job AS claimed
    SET worker = new_worker,
        lease_until = clock_timestamp() + make_interval(secs => lease_seconds),
        attempts = claimed.attempts + 1
    WHERE claimed.id = (
        SELECT waiting.id FROM write_side.import_job AS waiting
        WHERE waiting.document IS NOT NULL AND waiting.lease_until < clock_timestamp()
          AND NOT EXISTS (
              SELECT FROM write_side.import_job AS running
              WHERE running.document IS NOT NULL AND running.workspace = waiting.workspace
                AND running.lease_until >= clock_timestamp())
        ORDER BY waiting.at, waiting.id LIMIT 1)
    RETURNING claimed.*;
END
$$;
