-- The amount that a command adds to the usage of a quota; negative if it releases some.

CREATE TYPE write_side.append_use AS (
    command     int,
    workspace   text,
    environment text,
    quota       text,
    n           bigint
);
