-- The appends of the last days, by command key. An append that is sent again gets its result from here.
-- A row has the stream and version of the command's first event, and the number of its events.
-- retention.py deletes old rows.

CREATE TABLE write_side.command (
    key                text        NOT NULL PRIMARY KEY,
    digest             bytea       NOT NULL,
    originator_id      text        NOT NULL,
    originator_version bigint      NOT NULL,
    events             int         NOT NULL,
    at                 timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX command_at ON write_side.command USING brin (at);
