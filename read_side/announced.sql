-- The last checkpoint that was announced to readers. Only a distributed read model has this table
-- (deploy/adr/0059). It is on the coordinator, and a rebuild does not replace it.
CREATE TABLE projector.announced (
    one      boolean PRIMARY KEY DEFAULT true CHECK (one),
    epoch    bigint  NOT NULL,
    position bigint  NOT NULL
) WITH (fillfactor = 10);
INSERT INTO projector.announced (epoch, position) VALUES (0, 0)
