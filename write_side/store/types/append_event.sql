-- An event to append. command is the number of its command in the call, counted from 1. state is
-- null if the events are staged.

CREATE TYPE write_side.append_event AS (
    command int,
    stream  text,
    version bigint,
    topic   text,
    state   text
);
