-- The projectors of this database and their state. This schema is separate from the read model, so that a
-- rebuild does not replace it.
CREATE SCHEMA IF NOT EXISTS projector;
CREATE TABLE IF NOT EXISTS projector.process (
    id           text        NOT NULL PRIMARY KEY,
    role         text        NOT NULL,
    started_at   timestamptz NOT NULL DEFAULT now(),
    heartbeat_at timestamptz NOT NULL DEFAULT now(),
    halted       text
);

-- The progress of a running rebuild, rollback or verify.
CREATE TABLE IF NOT EXISTS projector.work (
    one          boolean     PRIMARY KEY DEFAULT true CHECK (one),
    name         text        NOT NULL,
    phase        text        NOT NULL,
    done         bigint      NOT NULL,
    total        bigint      NOT NULL,
    started_at   timestamptz NOT NULL DEFAULT now(),
    heartbeat_at timestamptz NOT NULL DEFAULT now()
);
