-- A version, in one row, that every change of keys, plans and environments raises: caches of them
-- compare it.

CREATE TABLE write_side.access (
    one     boolean PRIMARY KEY DEFAULT true CHECK (one),
    version bigint  NOT NULL
) WITH (fillfactor = 10);
INSERT INTO write_side.access (version) VALUES (0);
