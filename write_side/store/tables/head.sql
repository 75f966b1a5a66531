-- The position of the last event, in one row. Every append locks it last: that makes the order of
-- positions the order of commits, and a rollback gives its positions back.

CREATE TABLE write_side.head (
    one      boolean PRIMARY KEY DEFAULT true CHECK (one),
    position bigint  NOT NULL
) WITH (fillfactor = 10);
INSERT INTO write_side.head (position) VALUES (0);
