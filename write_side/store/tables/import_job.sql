-- Imports that were accepted over HTTP. The file is kept until the job has ended: a process that claims
-- the job has it until lease_until, then another one may take it over. The result is kept for a week.
-- EXTERNAL, because workbooks are compressed, and the application compresses the result.

CREATE TABLE write_side.import_job (
    id          uuid        NOT NULL PRIMARY KEY,
    workspace   text        NOT NULL,
    environment text        NOT NULL,
    command_key text        UNIQUE,
    digest      bytea       NOT NULL,
    file_name   text        NOT NULL,
    document    bytea,
    options     text        NOT NULL,
    state       text        NOT NULL DEFAULT 'checking',
    row_count   int,
    message     text,
    result      bytea,
    worker      uuid,
    lease_until timestamptz NOT NULL DEFAULT '-infinity',
    attempts    int         NOT NULL DEFAULT 0,
    at          timestamptz NOT NULL DEFAULT now()
);
ALTER TABLE write_side.import_job
    ALTER COLUMN document SET STORAGE EXTERNAL,
    ALTER COLUMN result   SET STORAGE EXTERNAL;
CREATE INDEX import_job_open ON write_side.import_job (at, id) WHERE document IS NOT NULL;
CREATE INDEX import_job_at ON write_side.import_job (at);
