-- The version of a content type that a command was decided on.

CREATE TYPE write_side.append_type_check AS (
    command         int,
    content_type_id uuid,
    version         bigint
);
