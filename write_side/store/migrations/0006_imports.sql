-- Files on their way to being imported, and the events of an import on their way to the log.

-- A file and what it was read as, for a day: the processes of the API keep nothing between requests.
-- What is read and previewed of it is compressed by who writes it.
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

-- The events of one append of many, in their order. They are written before the append begins, and
-- compressed by that, so that the append holds the head for no longer than it takes to copy them.
-- Unlogged: they are of use for a moment, and an append that does not find them all is refused.
CREATE UNLOGGED TABLE write_side.staged_event (
    batch              uuid        NOT NULL,
    n                  int         NOT NULL,
    originator_id      text COLLATE "C" NOT NULL,
    originator_version bigint      NOT NULL,
    topic              text        NOT NULL,
    state              text        NOT NULL,
    at                 timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (batch, n)
);

-- The append takes the events of a lone command from there where it is given a batch; it is then
-- given no states. Nothing else of it changes, and who does not know of batches gives none.
DO $migration$
DECLARE
    source  text := pg_get_functiondef('write_side.append'::regproc);
    given   text := 'event_state text[])';
    locking text := 'UPDATE write_side.head SET position = position + size';
    first   text := 'IF size = 1 AND alone THEN';
BEGIN
    IF position(given IN source) = 0 OR position(locking IN source) = 0
       OR position(first IN source) = 0 THEN
        RAISE EXCEPTION 'write_side.append is not the one of migration 4';
    END IF;
    DROP FUNCTION write_side.append;
    source := replace(source, given, 'event_state text[], staged uuid DEFAULT NULL)');
    source := replace(source, locking, 'IF staged IS NOT NULL AND size <> (
        SELECT count(*) FROM write_side.staged_event WHERE batch = staged
    ) THEN
        RAISE EXCEPTION ''stale'' USING ERRCODE = ''CL001'';
    END IF;

    ' || locking);
    source := replace(source, first, 'IF staged IS NOT NULL THEN
        INSERT INTO write_side.event
            (notification_id, originator_id, originator_version, topic, state)
        SELECT base + s.n, s.originator_id, s.originator_version, s.topic, s.state
        FROM write_side.staged_event s WHERE s.batch = staged ORDER BY s.n;
    ELSIF size = 1 AND alone THEN');
    EXECUTE source;
END
$migration$;
