-- The key of position tokens (deploy/adr/0008), in one row: all API processes share it, and it
-- survives restarts. It is generated here, at installation.

CREATE TABLE write_side.token_key (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    key bytea   NOT NULL
);
INSERT INTO write_side.token_key (key)
VALUES (sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8')));
