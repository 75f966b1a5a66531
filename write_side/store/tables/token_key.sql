-- One row with the key of position tokens (deploy/adr/0008). It is generated at installation. All API
-- processes share it and keep it across restarts.

CREATE TABLE write_side.token_key (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    key bytea   NOT NULL
);
INSERT INTO write_side.token_key (key)
VALUES (sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8')));
