-- The last deliveries of each endpoint: number counts all of them, and slot, its remainder, is reused.
-- status is null if there was no response; response is its first kilobyte.

CREATE TABLE write_side.webhook_delivery (
    workspace   text        NOT NULL,
    name        text        NOT NULL,
    slot        int         NOT NULL,
    number      bigint      NOT NULL,
    at          timestamptz NOT NULL DEFAULT clock_timestamp(),
    message_id  text        NOT NULL,
    type        text        NOT NULL,
    attempt     int         NOT NULL,
    status      int,
    error       text,
    duration_ms int         NOT NULL,
    response    text        NOT NULL,
    PRIMARY KEY (workspace, name, slot)
) WITH (fillfactor = 50);
