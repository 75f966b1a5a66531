-- Entries as they were after some version, so that an update of an entry with a long history reads few
-- events (deploy/adr/0027). Any row may be deleted: the log has everything.

CREATE TABLE write_side.entry_snapshot (
    stream  text COLLATE "C" NOT NULL PRIMARY KEY,
    version bigint NOT NULL,  -- of the last event in the state
    shape   text   NOT NULL,  -- of the state; a process ignores those of other shapes
    state   text   NOT NULL
);
