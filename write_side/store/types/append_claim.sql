-- An entry's id and slug that a command claims.

CREATE TYPE write_side.append_claim AS (
    command         int,
    id              uuid,
    workspace       text,
    environment     text,
    content_type_id uuid,
    language        text,
    slug_hash       bytea
);
