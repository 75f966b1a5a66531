-- What a command adds to a quota of the plan; negative where it gives back.

CREATE TYPE write_side.append_use AS (
    command     int,
    workspace   text,
    environment text,
    quota       text,
    n           bigint
);
