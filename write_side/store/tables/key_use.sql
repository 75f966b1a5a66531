-- The day on which an API key was last used, by the clock of this database. It is not in the log: a
-- restored log has none until the keys are used again.

CREATE TABLE write_side.key_use (
    key_id text NOT NULL PRIMARY KEY,
    day    date NOT NULL
);
