-- One row per content type. It reserves the slug, and holds the version that commands are checked against.

CREATE TABLE write_side.content_type_claim (
    id          uuid   NOT NULL PRIMARY KEY,
    workspace   text   NOT NULL,
    environment text   NOT NULL,
    slug        text   NOT NULL,
    version     bigint NOT NULL,
    CONSTRAINT content_type_claim_slug UNIQUE (workspace, environment, slug)
);
