-- The appends of the last days, by command key: an append sent again is answered from here. A row
-- names the first of the command's events and says how many there are. Retention: retention.py.

CREATE TABLE write_side.command (
    key                text        NOT NULL PRIMARY KEY,
    digest             bytea       NOT NULL,
    originator_id      text        NOT NULL,
    originator_version bigint      NOT NULL,
    events             int         NOT NULL,
    at                 timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX command_at ON write_side.command USING brin (at);
