-- The projectors of this database and what they are doing. It has a schema of its own, so that a
-- rebuild does not touch it.
CREATE SCHEMA IF NOT EXISTS projector;
CREATE TABLE IF NOT EXISTS projector.process (
    id           text        NOT NULL PRIMARY KEY,
    role         text        NOT NULL,
    started_at   timestamptz NOT NULL DEFAULT now(),
    heartbeat_at timestamptz NOT NULL DEFAULT now(),
    halted       text
);

-- The rebuild, rollback or verify that is running, and how far it has come.
CREATE TABLE IF NOT EXISTS projector.work (
    one          boolean     PRIMARY KEY DEFAULT true CHECK (one),
    name         text        NOT NULL,
    phase        text        NOT NULL,
    done         bigint      NOT NULL,
    total        bigint      NOT NULL,
    started_at   timestamptz NOT NULL DEFAULT now(),
    heartbeat_at timestamptz NOT NULL DEFAULT now()
);
