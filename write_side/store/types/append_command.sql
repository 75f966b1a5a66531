-- A command to append: its key, the digest of its request, the stream and version of its first event,
-- and the number of its events.

CREATE TYPE write_side.append_command AS (
    key     text,
    digest  bytea,
    stream  text,
    version bigint,
    events  int
);
