-- One row with the position of the last event. Every append locks it last. Positions therefore follow
-- the order of commits, and a rollback leaves no gap.

CREATE TABLE write_side.head (
    one      boolean PRIMARY KEY DEFAULT true CHECK (one),
    position bigint  NOT NULL
) WITH (fillfactor = 10);
INSERT INTO write_side.head (position) VALUES (0);
