-- The versions of this schema that were installed in this database. The last one is current
-- (write_side/store/migrations.py).

CREATE TABLE write_side.schema_version (
    version    int         NOT NULL PRIMARY KEY,
    digest     text        NOT NULL,  -- of the object files of this version
    applied_at timestamptz NOT NULL DEFAULT now()
);
