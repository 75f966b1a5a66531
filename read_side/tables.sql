-- The read model's tables. They have no migrations: change this file, then rebuild. Names are
-- unqualified, so that the same tables can be made in any schema (search_path says which): a rebuild
-- makes the next ones beside the live ones.

-- How far the log has been projected, and by whom it may be moved (epoch). The event at the
-- position is kept too: after the log was restored to an earlier point, positions are used again.
CREATE TABLE checkpoint (
    one                boolean     PRIMARY KEY DEFAULT true CHECK (one),
    position           bigint      NOT NULL,
    epoch              bigint      NOT NULL,
    originator_id      text,
    originator_version bigint,
    happened_at        timestamptz,
    shape              text        NOT NULL,
    moved_at           timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 10);

CREATE TABLE workspace (
    slug         text        NOT NULL PRIMARY KEY,
    name         text        NOT NULL,
    plan         json        NOT NULL,
    environments text[]      NOT NULL,
    created_at   timestamptz NOT NULL
);

CREATE TABLE api_key (
    id          text        NOT NULL PRIMARY KEY,
    workspace   text        NOT NULL,
    name        text        NOT NULL,
    permissions text[]      NOT NULL,
    issued_at   timestamptz NOT NULL,
    revoked_at  timestamptz
);
CREATE INDEX api_key_workspace ON api_key (workspace, name);

CREATE TABLE media (
    workspace    text NOT NULL,
    id           text NOT NULL,
    url          text NOT NULL,
    name         text NOT NULL,
    content_type text NOT NULL,
    PRIMARY KEY (workspace, id)
);

CREATE TABLE import_run (
    id              text        NOT NULL PRIMARY KEY,
    workspace       text        NOT NULL,
    environment     text        NOT NULL,
    content_type_id uuid        NOT NULL,
    file_name       text        NOT NULL,
    created         int         NOT NULL,
    updated         int         NOT NULL,
    unchanged       int         NOT NULL,
    skipped         int         NOT NULL,
    failed          int         NOT NULL,
    imported_by     text        NOT NULL,
    imported_at     timestamptz NOT NULL,
    reverted_at     timestamptz
);
CREATE INDEX import_run_workspace ON import_run (workspace, environment, imported_at);

CREATE TABLE content_type (
    id          uuid        NOT NULL PRIMARY KEY,
    workspace   text        NOT NULL,
    environment text        NOT NULL,
    slug        text        NOT NULL,
    name        text        NOT NULL,
    fields      json        NOT NULL,
    stages      json        NOT NULL,
    version     bigint      NOT NULL,
    created_at  timestamptz NOT NULL,
    updated_at  timestamptz NOT NULL,
    UNIQUE (workspace, environment, slug)
);

-- Every entry in its original language. `stored` holds all its values by field slug, those of
-- removed fields too; `fields` is rendered from them under the version `type_version` of its type,
-- ready to serve (json, not jsonb, which would reorder keys).
CREATE TABLE entry (
    workspace       text        NOT NULL,
    environment     text        NOT NULL,
    id              uuid        NOT NULL,
    content_type_id uuid        NOT NULL,
    slug            text        NOT NULL,
    slug_hash       bytea       NOT NULL,
    slug_since      timestamptz NOT NULL,
    title           text        NOT NULL,
    status          text        NOT NULL,
    language        text        NOT NULL,
    stage_id        text,
    stage           json,
    published_at    timestamptz,
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    position        bigint      NOT NULL,
    version         bigint      NOT NULL,
    type_version    bigint      NOT NULL,
    stored          json        NOT NULL,
    translations    json,
    fields          json        NOT NULL
) PARTITION BY LIST (environment);
CREATE TABLE entry_production PARTITION OF entry FOR VALUES IN ('production');
CREATE TABLE entry_staging PARTITION OF entry FOR VALUES IN ('staging');

-- Only where an entry has a translation: its texts whole and merged, ready to serve.
CREATE TABLE entry_locale (
    workspace   text NOT NULL,
    environment text NOT NULL,
    locale      text NOT NULL,
    id          uuid NOT NULL,
    title       text NOT NULL,
    fields      json NOT NULL
) PARTITION BY LIST (environment);
CREATE TABLE entry_locale_production PARTITION OF entry_locale
    FOR VALUES IN ('production') PARTITION BY LIST (locale);
CREATE TABLE entry_locale_staging PARTITION OF entry_locale
    FOR VALUES IN ('staging') PARTITION BY LIST (locale);

-- Who had a slug before: a row for each that was given up, by a rename or a delete, and none for
-- those that entries have now. The position is that of the event by which it was given up.
CREATE TABLE past_slug (
    workspace       text        NOT NULL,
    environment     text        NOT NULL,
    position        bigint      NOT NULL,
    content_type_id uuid        NOT NULL,
    language        text        NOT NULL,
    slug_hash       bytea       NOT NULL,
    id              uuid        NOT NULL,
    since           timestamptz NOT NULL,
    until           timestamptz NOT NULL
);

-- Content types that were removed: another may have their slug by now.
CREATE TABLE past_type (
    workspace   text        NOT NULL,
    environment text        NOT NULL,
    slug        text        NOT NULL,
    position    bigint      NOT NULL,
    id          uuid        NOT NULL,
    since       timestamptz NOT NULL,
    until       timestamptz NOT NULL,
    PRIMARY KEY (workspace, environment, slug, position)
);

-- Totals are kept, never counted.
CREATE TABLE entry_count (
    workspace       text   NOT NULL,
    environment     text   NOT NULL,
    content_type_id uuid   NOT NULL,
    status          text   NOT NULL,
    language        text   NOT NULL,
    n               bigint NOT NULL CHECK (n >= 0),
    PRIMARY KEY (workspace, environment, content_type_id, status, language)
) WITH (fillfactor = 50);

-- Content types with entries still rendered under an older version, and how far the catching up
-- has come, newest entry first.
CREATE TABLE rendering (
    content_type_id uuid NOT NULL PRIMARY KEY,
    created_at      timestamptz,
    position        bigint
);

-- Makes the partition for a locale where there is none, apart and then attached: to create it in
-- place would lock the parent against readers. One at a time: a rebuild has several writers.
CREATE FUNCTION add_locale(environment text, locale text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    parent text := 'entry_locale_' || environment;
    child  text := parent || '_' || locale;
BEGIN
    PERFORM pg_advisory_xact_lock('entry_locale'::regclass::oid::int, 0);
    IF to_regclass(quote_ident(child)) IS NOT NULL THEN
        RETURN;
    END IF;
    EXECUTE format('CREATE TABLE %I (LIKE entry_locale INCLUDING ALL)', child);
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES IN (%L)', parent, child, locale);
END
$$;
