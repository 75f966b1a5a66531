-- The read model's tables. They have no migrations: change this file, then rebuild. Names are
-- unqualified, so that the tables can be created in any schema by setting search_path. A rebuild creates
-- a second set of them next to the live one.
--
-- Each primary key has the workspace, even where the id alone is unique, so that tables can be distributed
-- by it (deploy/adr/0059).

-- The position of the last projected event, and the epoch of the projector that may move it. The stream
-- and version of that event are kept too, because positions are reused after the log was restored to an
-- earlier point. `workspaces` are those whose events are projected; null: all.
CREATE TABLE checkpoint (
    one                boolean     PRIMARY KEY DEFAULT true CHECK (one),
    position           bigint      NOT NULL,
    epoch              bigint      NOT NULL,
    originator_id      text,
    originator_version bigint,
    happened_at        timestamptz,
    shape              text        NOT NULL,
    workspaces         text[],
    moved_at           timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 10);

CREATE TABLE workspace (
    slug text NOT NULL PRIMARY KEY,
    name text NOT NULL
);

CREATE TABLE media (
    workspace    text NOT NULL,
    id           text NOT NULL,
    url          text NOT NULL,
    name         text NOT NULL,
    content_type text NOT NULL,
    PRIMARY KEY (workspace, id)
);

-- The webhook endpoints. `position` is that of an endpoint's last event, `created` the version of
-- the event that created it. `off` says why it is switched off.
CREATE TABLE webhook (
    workspace     text        NOT NULL,
    name          text        NOT NULL,
    url           text        NOT NULL,
    environment   text        NOT NULL,
    types         text[]      NOT NULL,
    events        text[]      NOT NULL,
    include_entry boolean     NOT NULL,
    created       bigint      NOT NULL,
    position      bigint      NOT NULL,
    off           text,
    changed_at    timestamptz NOT NULL,
    PRIMARY KEY (workspace, name)
);

CREATE TABLE import_run (
    id              text        NOT NULL,
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
    reverted_at     timestamptz,
    PRIMARY KEY (id, workspace)
);
CREATE INDEX import_run_workspace ON import_run (workspace, environment, imported_at);

CREATE TABLE content_type (
    id          uuid        NOT NULL,
    workspace   text        NOT NULL,
    environment text        NOT NULL,
    slug        text        NOT NULL,
    name        text        NOT NULL,
    fields      json        NOT NULL,
    stages      json        NOT NULL,
    version     bigint      NOT NULL,
    created_at  timestamptz NOT NULL,
    updated_at  timestamptz NOT NULL,
    PRIMARY KEY (id, workspace),
    UNIQUE (workspace, environment, slug)
);

-- Entries in their original language. `stored` holds all values by field slug, including those of
-- removed fields. `fields` is rendered from them under version `type_version` of the content type, ready
-- to serve. Where both are the same, `stored` is null: read coalesce(stored, fields). They are JSON, but of
-- type text: the length of a text is known without reading its value.
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
    stored          text,
    translations    json,
    fields          text        NOT NULL
) PARTITION BY LIST (environment);
CREATE TABLE entry_production PARTITION OF entry FOR VALUES IN ('production');
CREATE TABLE entry_staging PARTITION OF entry FOR VALUES IN ('staging');

-- The values by which entries are filtered and sorted, as keys that sort as the values do (keys.py,
-- deploy/adr/0043): one row for each path of an entry and each of its keys there. `position` is that of the
-- entry. `list` stands for one path of the entries of one content type, status and language. Every entry has
-- rows for its id, title, slug, stage and times, and for the fields of its content type that are indexed.
CREATE TABLE entry_value (
    workspace   text   NOT NULL,
    environment text   NOT NULL,
    position    bigint NOT NULL,
    list        uuid   NOT NULL,
    key         bytea  NOT NULL
) PARTITION BY LIST (environment);
CREATE TABLE entry_value_production PARTITION OF entry_value FOR VALUES IN ('production');
CREATE TABLE entry_value_staging PARTITION OF entry_value FOR VALUES IN ('staging');

-- The translations of entries, with the original texts filled in where a translation is missing, ready
-- to serve. `fields` is null where a translation has a title alone: they are those of the entry;
-- and where an entry with all translations is large: they are rendered from `texts` on reading. A locale with many translations has a partition of its own ('production/fr-FR'). The other
-- locales of an environment share one ('production/other'). A row is in exactly one of the two; readers
-- look in both, because a locale that gets its own partition is moved there while they read.
CREATE TABLE entry_locale (
    workspace     text NOT NULL,
    partition_key text NOT NULL,
    locale        text NOT NULL,
    id            uuid NOT NULL,
    title         text NOT NULL,
    texts         text,
    fields        text
) PARTITION BY LIST (partition_key);
CREATE TABLE entry_locale_production_other PARTITION OF entry_locale FOR VALUES IN ('production/other');
CREATE TABLE entry_locale_staging_other PARTITION OF entry_locale FOR VALUES IN ('staging/other');

-- The words of entries' texts, for full-text search (deploy/adr/0045): a row for each entry in its original
-- language (locale '') and for each locale into which it is translated. The lexemes begin with a hash of
-- the area (workspace, environment, content type, language, locale) and block of positions of the entry:
-- GIN then has a separate list of rows for each. Some space is left in each page, because a change of the
-- status must not write the index. Until the projector has found the words of a large batch, they are null.
CREATE TABLE entry_search (
    workspace   text     NOT NULL,
    environment text     NOT NULL,
    position    bigint   NOT NULL,
    locale      text     NOT NULL,
    status      text     NOT NULL,
    words       tsvector
) WITH (fillfactor = 85);

-- The locales that have a partition of their own. `attached`: rows are not written to it yet, because a
-- reader may have a plan without it. `moving`: new rows are written to it, older ones are being moved.
-- `settled`: it has all rows of the locale.
CREATE TABLE locale_partition (
    environment text NOT NULL,
    locale      text NOT NULL,
    state       text NOT NULL CHECK (state IN ('attached', 'moving', 'settled')),
    PRIMARY KEY (environment, locale)
);

-- The number of translations by the status of their entry, maintained by the projector.
CREATE TABLE locale_count (
    workspace   text   NOT NULL,
    environment text   NOT NULL,
    locale      text   NOT NULL,
    status      text   NOT NULL,
    n           bigint NOT NULL CHECK (n > 0),
    PRIMARY KEY (workspace, environment, locale, status)
) WITH (fillfactor = 50);

-- The entries that had a slug before: one row for each slug that was released by a rename or a delete.
-- Current slugs have no row. The position is that of the event that released the slug.
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

-- Content types that were removed. Another content type may have the same slug now.
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

-- The versions of entries that have ended, for lists as of a moment (deploy/adr/0047): one row for each
-- version that a later event replaced or deleted. The version that an entry has now has no row; it is in
-- `entry`. A version begins at `updated_at` and ends before `until`; one that began and ended at the same
-- time has no row. `position` is the entry's. `lifetime` is the class of the time between the two
-- (lifetimes.py). A title or slug of more than 1,000 bytes is null: filters do not compare it.
CREATE TABLE past_version (
    workspace       text        NOT NULL,
    environment     text        NOT NULL,
    content_type_id uuid        NOT NULL,
    status          text        NOT NULL,
    language        text        NOT NULL,
    position        bigint      NOT NULL,
    until           timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    lifetime        smallint    NOT NULL,
    id              uuid        NOT NULL,
    version         int         NOT NULL,
    stage_id        text,
    created_at      timestamptz NOT NULL,
    published_at    timestamptz,
    title           text,
    slug            text
);

-- The change feed (deploy/adr/0048): a row for each event of an entry or a content type. `version` is the
-- entry's or the content type's after the event; the id, the version and the time identify the event. Slug,
-- language and status are those after the change, or those of the deleted entry; `former_slug` is the slug
-- that the change replaced. `published`: a reader of published entries sees the change.
CREATE TABLE change (
    workspace       text        NOT NULL,
    environment     text        NOT NULL,
    position        bigint      NOT NULL,
    kind            text        NOT NULL,
    published       boolean     NOT NULL,
    content_type_id uuid        NOT NULL,
    content_type    text        NOT NULL,
    entry_id        uuid,
    slug            text,
    former_slug     text,
    language        text,
    status          text,
    version         bigint      NOT NULL,
    at              timestamptz NOT NULL,
    actor           text        NOT NULL
) PARTITION BY LIST (environment);
CREATE TABLE change_production PARTITION OF change FOR VALUES IN ('production');
CREATE TABLE change_staging PARTITION OF change FOR VALUES IN ('staging');

-- The numbers of entries in lists, maintained by the projector so that no read counts entries
-- (deploy/adr/0037). A list has 0 filters (all entries of an environment), 1 (content type) or 3 (content
-- type, status and language); columns that do not filter have the zero UUID or ''. On level 0, `n` is the
-- total of the list; on the others, it is the number of entries in a block of 262,144, 8,192 or 256
-- positions, and `block` is the first of these. The sizes are the projector's (rows.py); they are stated here
-- because another size is another shape.
CREATE TABLE entry_count (
    workspace       text     NOT NULL,
    environment     text     NOT NULL,
    filters         smallint NOT NULL,
    level           smallint NOT NULL,
    content_type_id uuid     NOT NULL,
    status          text     NOT NULL,
    language        text     NOT NULL,
    block           bigint   NOT NULL,
    n               bigint   NOT NULL CHECK (n > 0),
    PRIMARY KEY (workspace, environment, filters, level, content_type_id, status, language, block)
) WITH (fillfactor = 50);

-- Content types whose entries are being rendered again after a change of the type. `position` is
-- that of the last entry rendered, newest first.
CREATE TABLE rendering (
    workspace       text NOT NULL,
    content_type_id uuid NOT NULL,
    position        bigint,
    PRIMARY KEY (content_type_id, workspace)
);

-- Content types of which some paths in `entry_value` are incomplete after a change of the type; queries on
-- these paths have to wait. `position` is that of the last entry that was brought up to date, newest first.
CREATE TABLE indexing (
    workspace       text   NOT NULL,
    content_type_id uuid   NOT NULL,
    paths           text[] NOT NULL,
    position        bigint,
    PRIMARY KEY (content_type_id, workspace)
);

-- Gives a locale a partition of its own, unless the environment has `most` already. The table is created
-- first and then attached, because creating it as a partition would lock the parent against readers. The
-- advisory lock is needed because a rebuild has several writers.
CREATE FUNCTION add_locale_partition(environment text, locale text, state text, most int)
RETURNS boolean
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    child text := format('entry_locale_%s_%s', $1, $2);
BEGIN
    PERFORM pg_advisory_xact_lock('entry_locale'::regclass::oid::int, 0);
    IF EXISTS (SELECT FROM locale_partition WHERE (environment, locale) = ($1, $2)) THEN
        RETURN true;
    END IF;
    IF (SELECT count(*) FROM locale_partition WHERE environment = $1) >= most THEN
        RETURN false;
    END IF;
    EXECUTE format('CREATE TABLE %I (LIKE entry_locale INCLUDING ALL)', child);
    EXECUTE format('ALTER TABLE entry_locale ATTACH PARTITION %I FOR VALUES IN (%L)', child, $1 || '/' || $2);
    INSERT INTO locale_partition VALUES ($1, $2, $3);
    RETURN true;
END
$$;
