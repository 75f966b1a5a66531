-- One row per API key that was ever issued. Names and secrets are unique among the keys that are not revoked.

CREATE TABLE write_side.key_claim (
    id          text    NOT NULL PRIMARY KEY,
    workspace   text    NOT NULL,
    name        text    NOT NULL,
    secret_hash text    NOT NULL,
    permissions text[]  NOT NULL,
    environment text,        -- null: every one
    expires_at  timestamptz, -- null: never
    revoked     boolean NOT NULL DEFAULT false
);
CREATE UNIQUE INDEX key_claim_name ON write_side.key_claim (workspace, name) WHERE NOT revoked;
CREATE UNIQUE INDEX key_claim_secret ON write_side.key_claim (secret_hash) WHERE NOT revoked;
