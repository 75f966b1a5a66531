-- The version of a content type that a command's decision is based on.

CREATE TYPE write_side.append_type_check AS (
    command         int,
    content_type_id uuid,
    version         bigint
);
