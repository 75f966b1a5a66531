-- One row per entry that is not deleted. It reserves the entry's id and slug.

CREATE TABLE write_side.entry_claim (
    id              uuid  NOT NULL PRIMARY KEY,
    workspace       text  NOT NULL,
    environment     text  NOT NULL,
    content_type_id uuid  NOT NULL,
    language        text  NOT NULL,
    slug_hash       bytea NOT NULL,
    CONSTRAINT entry_claim_slug
        UNIQUE (workspace, environment, content_type_id, language, slug_hash)
);
