-- One row with the position and the time of the last event. Every append locks it last. Positions
-- therefore follow the order of commits, a rollback leaves no gap, and time never goes back, even if
-- the server's clock does.

CREATE TABLE write_side.head (
    one      boolean PRIMARY KEY DEFAULT true CHECK (one),
    position bigint  NOT NULL,
    at       timestamptz NOT NULL DEFAULT 'epoch'
) WITH (fillfactor = 10);
INSERT INTO write_side.head (position) VALUES (0);
