-- Who is signed in to the dashboard. Whoever may read this table can sign in as nobody: of a
-- session's token, and so of the cookie, there is only the SHA-256, and of the key only its id.

CREATE TABLE write_side.dashboard_session (
    token_hash bytea       NOT NULL PRIMARY KEY,
    key_id     text        NOT NULL,
    began_at   timestamptz NOT NULL DEFAULT now(),
    seen_at    timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX dashboard_session_seen ON write_side.dashboard_session (seen_at);
