-- Uploaded files and their parsed content, kept for a day because API processes keep no state between
-- requests. EXTERNAL, because the application compresses parsed and preview.

CREATE TABLE write_side.upload (
    id          uuid        NOT NULL PRIMARY KEY,
    workspace   text        NOT NULL,
    environment text        NOT NULL,
    file_name   text        NOT NULL,
    document    bytea       NOT NULL,
    reading     text        NOT NULL,
    parsed      bytea       NOT NULL,
    preview     bytea,
    at          timestamptz NOT NULL DEFAULT now()
);
ALTER TABLE write_side.upload
    ALTER COLUMN document SET STORAGE EXTERNAL,
    ALTER COLUMN parsed   SET STORAGE EXTERNAL,
    ALTER COLUMN preview  SET STORAGE EXTERNAL;
CREATE INDEX upload_workspace ON write_side.upload (workspace, at);
CREATE INDEX upload_at ON write_side.upload (at);
