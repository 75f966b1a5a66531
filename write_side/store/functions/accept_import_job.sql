-- Stores an import that was accepted over HTTP, unless too many wait already. A job with the same id or
-- the same command key, as long as keys live, is the same job, or another one where the digests differ.

CREATE OR REPLACE FUNCTION write_side.accept_import_job(
    new_id uuid, new_workspace text, new_environment text, new_key text, new_digest bytea,
    new_file_name text, new_document bytea, new_options text,
    most_of_workspace bigint, most_in_all bigint
) RETURNS TABLE (outcome text, job_id uuid)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    earlier   record;
    waiting   bigint;
    of_theirs bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('write_side.import_job', 0));
    UPDATE write_side.import_job SET command_key = NULL
    WHERE command_key = new_key AND at < now() - write_side.command_lifetime();
    SELECT j.id, j.digest INTO earlier
    FROM write_side.import_job AS j WHERE j.id = new_id OR j.command_key = new_key;
    IF FOUND THEN
        RETURN QUERY SELECT
            CASE WHEN earlier.digest = new_digest THEN 'accepted' ELSE 'reused' END, earlier.id;
        RETURN;
    END IF;
    SELECT count(*), count(*) FILTER (WHERE workspace = new_workspace) INTO waiting, of_theirs
    FROM write_side.import_job WHERE document IS NOT NULL;
    IF of_theirs >= most_of_workspace THEN
        RETURN QUERY SELECT 'workspace is full', NULL::uuid;
    ELSIF waiting >= most_in_all THEN
        RETURN QUERY SELECT 'full', NULL::uuid;
    ELSE
        INSERT INTO write_side.import_job (
            id, workspace, environment, command_key, digest, file_name, document, options
        ) VALUES (
            new_id, new_workspace, new_environment, new_key, new_digest,
            new_file_name, new_document, new_options
        );
        RETURN QUERY SELECT 'accepted', new_id;
    END IF;
END
$$;
