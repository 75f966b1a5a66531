-- What the tokens that name a position are made with: one key for all API processes and all their
-- restarts, so that a token of one is a token of all. Random, and made here, so that nobody has to.

CREATE TABLE write_side.token_key (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    key bytea   NOT NULL
);
INSERT INTO write_side.token_key (key)
VALUES (sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8')));
