-- The versions of this schema that the database has had; the last is the one it is at
-- (write_side/store/schema.py).

CREATE TABLE write_side.schema_version (
    version    int         NOT NULL PRIMARY KEY,
    digest     text        NOT NULL,  -- of the object files that this version consists of
    applied_at timestamptz NOT NULL DEFAULT now()
);
