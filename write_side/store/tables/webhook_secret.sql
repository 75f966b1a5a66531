-- The secrets that sign the deliveries of webhooks (ADR 49). They are not in the log: they can be replaced
-- and erased. An endpoint has one without expires_at, and after rotations up to two previous ones.

CREATE TABLE write_side.webhook_secret (
    workspace  text        NOT NULL,
    name       text        NOT NULL,
    secret     text        NOT NULL,
    made_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz
);
CREATE INDEX webhook_secret_name ON write_side.webhook_secret (workspace, name);
