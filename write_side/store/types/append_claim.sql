-- The id and slug of a new entry, claimed by a command.

CREATE TYPE write_side.append_claim AS (
    command         int,
    id              uuid,
    workspace       text,
    environment     text,
    content_type_id uuid,
    language        text,
    slug_hash       bytea
);
