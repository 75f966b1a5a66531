-- One row with a version. Every change of keys, plans and environments increments it, so caches compare
-- it to detect changes.

CREATE TABLE write_side.access (
    one     boolean PRIMARY KEY DEFAULT true CHECK (one),
    version bigint  NOT NULL
) WITH (fillfactor = 10);
INSERT INTO write_side.access (version) VALUES (0);
