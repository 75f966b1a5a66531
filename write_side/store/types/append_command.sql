-- A command to append: its key, the digest of the request it came from, and its events: the stream
-- and version of the first, and their number.

CREATE TYPE write_side.append_command AS (
    key     text,
    digest  bytea,
    stream  text,
    version bigint,
    events  int
);
