-- The sessions of the dashboard. Reading this table is not enough to sign in: it stores only the
-- SHA-256 of a session's token and the id of the key.

CREATE TABLE write_side.dashboard_session (
    token_hash bytea       NOT NULL PRIMARY KEY,
    key_id     text        NOT NULL,
    began_at   timestamptz NOT NULL DEFAULT now(),
    seen_at    timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX dashboard_session_seen ON write_side.dashboard_session (seen_at);
