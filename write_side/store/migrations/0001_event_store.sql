-- The log, its head, the claims beside it, and the one function that changes any of them.

CREATE SCHEMA IF NOT EXISTS write_side;

-- The columns of the eventsourcing library. notification_id is the position: gapless, and in
-- commit order, because it is taken from write_side.head inside the append. Streams are ordered by
-- their bytes, whatever the database's language: a replay reads one range of them after another.
CREATE TABLE write_side.event (
    notification_id    bigint NOT NULL PRIMARY KEY,
    originator_id      text   COLLATE "C" NOT NULL,
    originator_version bigint NOT NULL,
    topic              text   NOT NULL,
    state              text   NOT NULL,
    CONSTRAINT event_stream UNIQUE (originator_id, originator_version)
);

-- One row. Its lock is what makes the order of positions the order of commits, and a rollback
-- gives the positions back.
CREATE TABLE write_side.head (
    one      boolean PRIMARY KEY DEFAULT true CHECK (one),
    position bigint  NOT NULL
) WITH (fillfactor = 10);
INSERT INTO write_side.head (position) VALUES (0);

-- Which appends have happened: an append sent again under its key is answered from here. It names
-- the first of the events, and how many they were.
CREATE TABLE write_side.command (
    key                text        NOT NULL PRIMARY KEY,
    digest             bytea       NOT NULL,
    originator_id      text        NOT NULL,
    originator_version bigint      NOT NULL,
    events             int         NOT NULL,
    at                 timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX command_at ON write_side.command USING brin (at);

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

CREATE TABLE write_side.content_type_claim (
    id          uuid   NOT NULL PRIMARY KEY,
    workspace   text   NOT NULL,
    environment text   NOT NULL,
    slug        text   NOT NULL,
    version     bigint NOT NULL,
    CONSTRAINT content_type_claim_slug UNIQUE (workspace, environment, slug)
);

CREATE TABLE write_side.key_claim (
    id          text    NOT NULL PRIMARY KEY,
    workspace   text    NOT NULL,
    name        text    NOT NULL,
    secret_hash text    NOT NULL,
    permissions text[]  NOT NULL,
    revoked     boolean NOT NULL DEFAULT false
);
CREATE UNIQUE INDEX key_claim_name ON write_side.key_claim (workspace, name) WHERE NOT revoked;
CREATE UNIQUE INDEX key_claim_secret ON write_side.key_claim (secret_hash) WHERE NOT revoked;

-- What counts against a plan. bound is the plan's limit, null where there is none.
CREATE TABLE write_side.usage (
    workspace   text   NOT NULL,
    environment text   NOT NULL,
    quota       text   NOT NULL,
    used        bigint NOT NULL DEFAULT 0 CHECK (used >= 0),
    bound       bigint,
    PRIMARY KEY (workspace, environment, quota)
) WITH (fillfactor = 50);

-- Raised by every change of keys, plans and environments: caches of them compare it.
CREATE TABLE write_side.access (
    one     boolean PRIMARY KEY DEFAULT true CHECK (one),
    version bigint  NOT NULL
) WITH (fillfactor = 10);
INSERT INTO write_side.access (version) VALUES (0);

-- Rare changes, which come alone (never coalesced with other commands), as
--   {"content_types": [{"op": "claim"|"revise"|"release", "id", "workspace", "environment", "slug", "version"}],
--    "entries":       [{"op": "rename"|"release", "id", "slug_hash"}],
--    "keys":          [{"op": "claim"|"permit"|"revoke", "id", "workspace", "name", "secret_hash", "permissions"}],
--    "bounds":        [{"workspace", "environment", "quota", "bound"}],
--    "access":        true}
-- Raises CL001 with what could not be changed as its message.
CREATE FUNCTION write_side.change_claims(changes jsonb) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    change jsonb;
    held   write_side.entry_claim;
    stand_in uuid;
BEGIN
    FOR change IN
        SELECT value FROM jsonb_array_elements(changes -> 'content_types') ORDER BY value ->> 'id'
    LOOP
        CASE change ->> 'op'
        WHEN 'claim' THEN
            INSERT INTO write_side.content_type_claim (id, workspace, environment, slug, version)
            VALUES ((change ->> 'id')::uuid, change ->> 'workspace', change ->> 'environment',
                    change ->> 'slug', 1)
            ON CONFLICT DO NOTHING;
            IF NOT FOUND THEN
                RAISE EXCEPTION 'content_type_taken' USING ERRCODE = 'CL001';
            END IF;
        WHEN 'revise' THEN
            UPDATE write_side.content_type_claim SET version = version + 1
            WHERE id = (change ->> 'id')::uuid AND version = (change ->> 'version')::bigint;
            IF NOT FOUND THEN
                RAISE EXCEPTION 'stale' USING ERRCODE = 'CL001';
            END IF;
        WHEN 'release' THEN
            DELETE FROM write_side.content_type_claim
            WHERE id = (change ->> 'id')::uuid AND version = (change ->> 'version')::bigint;
            IF NOT FOUND THEN
                RAISE EXCEPTION 'stale' USING ERRCODE = 'CL001';
            END IF;
            -- Creates hold a share lock on the type's row until they commit, so that after the
            -- DELETE above every entry of the type is visible here.
            PERFORM FROM write_side.entry_claim e
            WHERE e.workspace = change ->> 'workspace' AND e.environment = change ->> 'environment'
              AND e.content_type_id = (change ->> 'id')::uuid
            LIMIT 1;
            IF FOUND THEN
                RAISE EXCEPTION 'content_type_in_use' USING ERRCODE = 'CL001';
            END IF;
        END CASE;
    END LOOP;

    FOR change IN
        SELECT value FROM jsonb_array_elements(changes -> 'entries') ORDER BY value ->> 'id'
    LOOP
        CASE change ->> 'op'
        WHEN 'rename' THEN
            -- The new slug is taken by a stand-in before the old one is let go. An UPDATE would let
            -- go first and then wait for whoever is taking the new one, who may be waiting for the
            -- old one by then.
            SELECT * INTO held FROM write_side.entry_claim
            WHERE id = (change ->> 'id')::uuid
              AND slug_hash <> decode(change ->> 'slug_hash', 'hex')
            FOR UPDATE;
            IF FOUND THEN
                INSERT INTO write_side.entry_claim
                VALUES (gen_random_uuid(), held.workspace, held.environment, held.content_type_id,
                        held.language, decode(change ->> 'slug_hash', 'hex'))
                ON CONFLICT DO NOTHING
                RETURNING id INTO stand_in;
                IF NOT FOUND THEN
                    RAISE EXCEPTION 'slug_taken' USING ERRCODE = 'CL001';
                END IF;
                DELETE FROM write_side.entry_claim WHERE id = held.id;
                UPDATE write_side.entry_claim SET id = held.id WHERE id = stand_in;
            END IF;
        WHEN 'release' THEN
            DELETE FROM write_side.entry_claim WHERE id = (change ->> 'id')::uuid;
        END CASE;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'stale' USING ERRCODE = 'CL001';
        END IF;
    END LOOP;

    FOR change IN
        SELECT value FROM jsonb_array_elements(changes -> 'keys') ORDER BY value ->> 'id'
    LOOP
        CASE change ->> 'op'
        WHEN 'claim' THEN
            INSERT INTO write_side.key_claim (id, workspace, name, secret_hash, permissions)
            VALUES (change ->> 'id', change ->> 'workspace', change ->> 'name',
                    change ->> 'secret_hash',
                    ARRAY(SELECT jsonb_array_elements_text(change -> 'permissions')))
            ON CONFLICT DO NOTHING;
            IF NOT FOUND THEN
                RAISE EXCEPTION 'key_taken' USING ERRCODE = 'CL001';
            END IF;
        WHEN 'permit' THEN
            UPDATE write_side.key_claim
            SET permissions = ARRAY(SELECT jsonb_array_elements_text(change -> 'permissions'))
            WHERE id = change ->> 'id' AND NOT revoked;
        WHEN 'revoke' THEN
            UPDATE write_side.key_claim SET revoked = true
            WHERE id = change ->> 'id' AND NOT revoked;
        END CASE;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'stale' USING ERRCODE = 'CL001';
        END IF;
    END LOOP;

    INSERT INTO write_side.usage (workspace, environment, quota, bound)
    SELECT b.workspace, b.environment, b.quota, b.bound
    FROM jsonb_to_recordset(changes -> 'bounds')
        AS b(workspace text, environment text, quota text, bound bigint)
    ORDER BY 1, 2, 3
    ON CONFLICT ON CONSTRAINT usage_pkey DO UPDATE SET bound = excluded.bound;

    IF (changes -> 'access')::boolean THEN
        UPDATE write_side.access SET version = version + 1;
        PERFORM pg_notify('contentlog_access', '');
    END IF;
END
$$;

-- Appends the events of some commands: all of a command's or none, in one transaction.
--
-- Locks are taken in one order everywhere, each kind sorted across all the commands: command keys,
-- content types, entry claims (by slug), usage, and the head last; so two appends cannot deadlock
-- (but for two that give the same ids to entries with other slugs: those are sorted by slug), and
-- the head is held for the shortest time. No two commands of one call have a key, a claim or a
-- stream in common; a command that is not alone has one claim at most, and no changes.
--
-- Returns ('first', position of the first event) and a row for each command that is not plainly
-- appended: 'replayed' (it happened before; its position, number of events and digest), 'stale' (a
-- content type or a stream has moved on), 'id_taken' and 'slug_taken' (which of its claims, from
-- 1; an id stays taken when its entry is deleted), 'plan_limit' (the quota and its bound). The
-- others follow `first` in order. A lone command that is refused raises CL001 with the outcome as
-- its message, which undoes all it did.
--
-- Streams are looked up only where one goes on, or where `thorough`: a unique_violation means that
-- a stream is taken after all, and nothing of the call has happened. Each step is one plain
-- statement while nothing is refused; what was refused is sought only where rows are missing.
CREATE FUNCTION write_side.append(
    thorough boolean,
    keys text[], digests bytea[],
    command_stream text[], command_version bigint[], command_events int[],
    claim_command int[], claim_id uuid[], claim_workspace text[], claim_environment text[],
    claim_type uuid[], claim_language text[], claim_slug_hash bytea[],
    type_command int[], type_id uuid[], type_version bigint[],
    use_command int[], use_workspace text[], use_environment text[], use_quota text[],
    use_n bigint[],
    changes jsonb,
    event_command int[], event_stream text[], event_version bigint[], event_topic text[],
    event_state text[]
) RETURNS TABLE (n int, outcome text, detail text) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    alone    boolean := cardinality(keys) = 1;
    refused  int[] := '{}';
    replayed int[] := '{}';
    stale    int[];
    known    text[];
    taken    text[];
    held     uuid[];
    versions bigint[];
    over     record;
    one      record;
    base     bigint;
    size     bigint;
BEGIN
    -- An insert waits for a transaction that holds the same key: the lost one, where this is an
    -- append sent again.
    IF alone THEN
        INSERT INTO write_side.command (key, digest, originator_id, originator_version, events)
        VALUES (keys[1], digests[1], command_stream[1], command_version[1], command_events[1])
        ON CONFLICT (key) DO NOTHING
        RETURNING ARRAY[key] INTO taken;
    ELSE
        WITH inserted AS (
            INSERT INTO write_side.command (key, digest, originator_id, originator_version, events)
            SELECT * FROM unnest(keys, digests, command_stream, command_version, command_events)
                AS k(key, digest, stream, version, events)
            ORDER BY k.key
            ON CONFLICT (key) DO NOTHING
            RETURNING key
        )
        SELECT array_agg(key) INTO taken FROM inserted;
    END IF;
    IF cardinality(taken) IS DISTINCT FROM cardinality(keys) THEN
        SELECT array_agg(k.n) INTO replayed FROM unnest(keys) WITH ORDINALITY AS k(key, n)
        WHERE k.key <> ALL (coalesce(taken, '{}'));
        RETURN QUERY
        SELECT r.c, 'replayed',
               concat_ws(':', e.notification_id, k.events, encode(k.digest, 'hex'))
        FROM unnest(replayed) AS r(c)
        JOIN write_side.command k ON k.key = keys[r.c]
        JOIN write_side.event e USING (originator_id, originator_version);
        IF alone THEN RETURN; END IF;
        refused := replayed;
    END IF;

    IF thorough OR 1 < ANY (event_version) THEN
        SELECT array_agg(DISTINCT e.c), array_agg(e.stream) INTO stale, known
        FROM unnest(event_command, event_stream, event_version) AS e(c, stream, version)
        JOIN write_side.event v ON v.originator_id = e.stream AND v.originator_version = e.version
        WHERE e.c <> ALL (refused);
    END IF;
    IF stale IS NOT NULL THEN
        FOR over IN
            SELECT s.c, min(g.o) AS claim FROM unnest(stale) AS s(c)
            LEFT JOIN unnest(claim_command, claim_id) WITH ORDINALITY AS g(c, id, o)
                ON g.c = s.c AND 'entry/' || g.id = ANY (known)
            GROUP BY s.c
        LOOP
            n := over.c;
            outcome := CASE WHEN over.claim IS NULL THEN 'stale' ELSE 'id_taken' END;
            detail := CASE WHEN alone THEN coalesce(over.claim::text, '') ELSE '1' END;
            IF alone THEN
                RAISE EXCEPTION '%', outcome USING ERRCODE = 'CL001', DETAIL = detail;
            END IF;
            RETURN NEXT;
            refused := refused || over.c;
        END LOOP;
    END IF;

    IF cardinality(type_id) > 0 THEN
        -- The versions that are locked, not those of the statement's snapshot.
        SELECT array_agg(c.id), array_agg(c.version) INTO held, versions FROM (
            SELECT id, version FROM write_side.content_type_claim
            WHERE id = ANY (type_id) ORDER BY id FOR SHARE
        ) c;
        FOR over IN
            SELECT DISTINCT t.c FROM unnest(type_command, type_id, type_version)
                AS t(c, id, version)
            WHERE (t.id, t.version) NOT IN (SELECT * FROM unnest(held, versions))
              AND t.c <> ALL (refused)
        LOOP
            IF alone THEN RAISE EXCEPTION 'stale' USING ERRCODE = 'CL001'; END IF;
            RETURN QUERY SELECT over.c, 'stale', '';
            refused := refused || over.c;
        END LOOP;
    END IF;

    IF changes IS NOT NULL THEN
        PERFORM write_side.change_claims(changes);
    END IF;

    IF cardinality(claim_id) > 0 THEN
        WITH inserted AS (
            INSERT INTO write_side.entry_claim
                (id, workspace, environment, content_type_id, language, slug_hash)
            SELECT g.id, g.workspace, g.environment, g.type, g.language, g.slug_hash
            FROM unnest(claim_command, claim_id, claim_workspace, claim_environment, claim_type,
                        claim_language, claim_slug_hash) WITH ORDINALITY
                AS g(c, id, workspace, environment, type, language, slug_hash, o)
            WHERE g.c <> ALL (refused)
            ORDER BY g.workspace, g.environment, g.type, g.language, g.slug_hash, g.o
            ON CONFLICT DO NOTHING
            RETURNING id, slug_hash
        )
        SELECT array_agg(id || ':' || encode(slug_hash, 'hex')) INTO taken FROM inserted;
        IF cardinality(taken) IS DISTINCT FROM cardinality(claim_id) THEN
            FOR over IN
                SELECT DISTINCT ON (g.c) g.c, g.id, g.o
                FROM unnest(claim_command, claim_id, claim_slug_hash) WITH ORDINALITY
                    AS g(c, id, slug_hash, o)
                WHERE g.c <> ALL (refused)
                  AND g.id || ':' || encode(g.slug_hash, 'hex') <> ALL (coalesce(taken, '{}'))
                ORDER BY g.c, g.o
            LOOP
                n := over.c;
                outcome := CASE WHEN EXISTS (SELECT FROM write_side.entry_claim WHERE id = over.id)
                                THEN 'id_taken' ELSE 'slug_taken' END;
                detail := CASE WHEN alone THEN over.o ELSE 1 END;
                IF alone THEN
                    RAISE EXCEPTION '%', outcome USING ERRCODE = 'CL001', DETAIL = detail;
                END IF;
                RETURN NEXT;
                refused := refused || over.c;
            END LOOP;
        END IF;
    END IF;

    -- What the commands add up to, if it fits; else each of them that still does, in the order they
    -- came. Where nothing is counted, there is room for nothing.
    IF cardinality(use_n) > 0 THEN
        FOR over IN
            SELECT g.w, g.v, g.q, sum(g.used) AS used
            FROM unnest(use_command, use_workspace, use_environment, use_quota, use_n)
                AS g(c, w, v, q, used)
            WHERE g.c <> ALL (refused) GROUP BY g.w, g.v, g.q ORDER BY g.w, g.v, g.q
        LOOP
            UPDATE write_side.usage SET used = used + over.used
            WHERE (workspace, environment, quota) = (over.w, over.v, over.q)
              AND (bound IS NULL OR over.used <= 0 OR used + over.used <= bound);
            CONTINUE WHEN FOUND;
            FOR one IN
                SELECT g.c, g.used
                FROM unnest(use_command, use_workspace, use_environment, use_quota, use_n)
                    AS g(c, w, v, q, used)
                WHERE (g.w, g.v, g.q) = (over.w, over.v, over.q) AND g.c <> ALL (refused) ORDER BY g.c
            LOOP
                UPDATE write_side.usage SET used = used + one.used
                WHERE (workspace, environment, quota) = (over.w, over.v, over.q)
                  AND (bound IS NULL OR one.used <= 0 OR used + one.used <= bound);
                CONTINUE WHEN FOUND;
                n := one.c;
                outcome := 'plan_limit';
                detail := over.q || ':' || coalesce((
                    SELECT bound FROM write_side.usage
                    WHERE (workspace, environment, quota) = (over.w, over.v, over.q)), 0);
                IF alone THEN
                    RAISE EXCEPTION 'plan_limit' USING ERRCODE = 'CL001', DETAIL = detail;
                END IF;
                RETURN NEXT;
                refused := refused || one.c;
                DELETE FROM write_side.entry_claim
                WHERE id IN (SELECT g.id FROM unnest(claim_command, claim_id) AS g(c, id)
                             WHERE g.c = one.c);
            END LOOP;
        END LOOP;
    END IF;

    size := cardinality(event_command);
    IF cardinality(refused) > 0 THEN
        DELETE FROM write_side.command
        WHERE key IN (SELECT keys[c] FROM unnest(refused) AS c WHERE c <> ALL (replayed));
        SELECT count(*) INTO size FROM unnest(event_command) AS e(c) WHERE e.c <> ALL (refused);
        IF size = 0 THEN RETURN; END IF;
    END IF;

    UPDATE write_side.head SET position = position + size RETURNING position - size INTO base;
    IF size = 1 AND alone THEN
        INSERT INTO write_side.event
            (notification_id, originator_id, originator_version, topic, state)
        VALUES (base + 1, event_stream[1], event_version[1], event_topic[1], event_state[1]);
    ELSIF cardinality(refused) = 0 THEN
        INSERT INTO write_side.event
            (notification_id, originator_id, originator_version, topic, state)
        SELECT base + e.o, e.stream, e.version, e.topic, e.state
        FROM unnest(event_stream, event_version, event_topic, event_state)
            WITH ORDINALITY AS e(stream, version, topic, state, o);
    ELSE
        INSERT INTO write_side.event
            (notification_id, originator_id, originator_version, topic, state)
        SELECT base + row_number() OVER (ORDER BY e.o), e.stream, e.version, e.topic, e.state
        FROM unnest(event_command, event_stream, event_version, event_topic, event_state)
            WITH ORDINALITY AS e(c, stream, version, topic, state, o)
        WHERE e.c <> ALL (refused);
    END IF;
    PERFORM pg_notify('contentlog_event', (base + size)::text);
    n := NULL; outcome := 'first'; detail := base + 1;
    RETURN NEXT;
END
$$;
