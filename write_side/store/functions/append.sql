-- Appends the events of one or more commands in one transaction: all events of a command or none.
--
--   check_streams  check first that the versions of the events are free in their streams; needed if an
--                  event continues a stream, and to find the refused command after a unique_violation
--   commands       the commands; the other arrays refer to them by number, counted from 1
--   claims         ids and slugs of new entries
--   type_checks    content types that must still have the version that the decision is based on
--   uses           amounts to add to the usage of quotas
--   changes        rare changes of claims, see write_side.change_claims; only with a single command
--   events         in the order of the log
--   staged         the batch of write_side.staged_event with the events; only with a single command
--
-- No two commands of a call share a key, a claim or a stream. In a call with several commands, each
-- command has at most one claim and one use, and there are no changes.
--
-- Returns a row ('first', position of the first event and the time of all, in milliseconds since 1970),
-- and a row for each command that was not appended. The events of all other commands have consecutive
-- positions from the first. Outcomes and their details:
--
--   replayed    the command was appended before: position, number of events, their time and digest
--   stale       a stream or a content type has changed, or an import has priority over the command
--   id_taken    an entry has or had this id: the number of the command's claim, counted from 1
--   slug_taken  an entry has this slug: the number of the command's claim, counted from 1
--   plan_limit  the quota and its bound
--
-- If a single command is refused, the function raises CL001 instead, with outcome and detail as message
-- and detail.
--
-- Runs as the owner: the role that calls it may not write events or claims (write_side.grant_runtime).
--
-- All calls take their locks in the same order, each kind sorted: command keys, content types, entry
-- claims (by slug), usage, the head. Two calls therefore cannot deadlock, unless they claim the same ids
-- with different slugs. The head, which all appends need, is locked for the shortest time.

CREATE OR REPLACE FUNCTION write_side.append(
    check_streams boolean,
    commands      write_side.append_command[],
    claims        write_side.append_claim[],
    type_checks   write_side.append_type_check[],
    uses          write_side.append_use[],
    changes       jsonb,
    events        write_side.append_event[],
    staged        uuid DEFAULT NULL
) RETURNS TABLE (n int, outcome text, detail text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    alone    boolean := cardinality(commands) = 1;
    replayed int[] := '{}';  -- numbers of commands
    refused  int[] := '{}';  -- numbers of commands, including replayed ones
    had      text[];         -- the rows that a step has inserted
    late     int[];          -- numbers of commands that were decided under an older content type
    total    record;
    part     record;
    base     bigint;         -- the position before the first event
    moment   timestamptz;    -- the time of the events
    size     int := cardinality(events);
BEGIN
    -- 1. Command keys. The insert waits for a transaction that holds the same key, for example the one
    -- whose connection was lost before this append was sent again. A key is valid for a time, after
    -- which its row is replaced; an import's key is valid forever. A row that is not replaced is locked,
    -- so that retention cannot delete it before it is read below.
    WITH inserted AS (
        INSERT INTO write_side.command AS c (key, digest, originator_id, originator_version, events)
        SELECT key, digest, stream, version, events FROM unnest(commands)
        ORDER BY key
        ON CONFLICT (key) DO UPDATE
            SET digest = excluded.digest, originator_id = excluded.originator_id,
                originator_version = excluded.originator_version, events = excluded.events,
                at = excluded.at
            WHERE c.at < excluded.at - write_side.command_lifetime() AND c.key NOT LIKE 'import/%'
        RETURNING c.key
    )
    SELECT array_agg(key) INTO had FROM inserted;

    IF cardinality(had) IS DISTINCT FROM cardinality(commands) THEN
        FOR n, outcome, detail IN
            SELECT c.n, 'replayed',
                   concat_ws(':', e.notification_id, k.events,
                             (extract(epoch FROM e.at) * 1000)::bigint, encode(k.digest, 'hex'))
            FROM unnest(commands) WITH ORDINALITY AS c(key, digest, stream, version, events, n)
            LEFT JOIN write_side.command k USING (key)
            LEFT JOIN write_side.event e USING (originator_id, originator_version)
            WHERE c.key <> ALL (coalesce(had, '{}'))
        LOOP
            RETURN NEXT;
            replayed := replayed || n;
        END LOOP;
        IF alone THEN RETURN; END IF;
        refused := replayed;
    END IF;

    <<checks>>
    BEGIN
        -- 2. Streams. If an event with the first version of a new entry's stream exists, the entry's id is
        -- taken, even if that entry was deleted.
        IF check_streams THEN
            FOR n, outcome, detail IN
                SELECT e.command, CASE WHEN min(c.n) IS NULL THEN 'stale' ELSE 'id_taken' END,
                       coalesce(min(c.n)::text, '')
                FROM unnest(events) AS e
                JOIN write_side.event v
                    ON v.originator_id = e.stream AND v.originator_version = e.version
                LEFT JOIN (
                    SELECT command, 'entry/' || id AS stream,
                           row_number() OVER (PARTITION BY command ORDER BY ordinality) AS n
                    FROM unnest(claims) WITH ORDINALITY
                ) AS c ON c.command = e.command AND c.stream = e.stream
                WHERE e.command <> ALL (refused)
                GROUP BY e.command
            LOOP
                RETURN NEXT;
                refused := refused || n;
                EXIT checks WHEN alone;
            END LOOP;
        END IF;

        -- 3. Content types. The share locks protect the types and their versions until the commit. The
        -- locked version counts, not the one in the statement's snapshot.
        IF cardinality(type_checks) > 0 THEN
            WITH locked AS (
                SELECT id, version FROM write_side.content_type_claim
                WHERE id = ANY (ARRAY(SELECT content_type_id FROM unnest(type_checks)))
                ORDER BY id FOR SHARE
            )
            SELECT array_agg(DISTINCT t.command) INTO late
            FROM unnest(type_checks) AS t
            LEFT JOIN locked AS l ON (l.id, l.version) = (t.content_type_id, t.version)
            WHERE t.command <> ALL (refused)
              AND (l.id IS NULL
                   -- An import can hold this lock to have priority over other changes of entries of
                   -- its type. Its own append is staged.
                   OR staged IS NULL AND (commands[t.command]).version > 1
                      AND NOT pg_try_advisory_xact_lock_shared(
                          hashtextextended(t.content_type_id::text, 0)));
            FOREACH n IN ARRAY coalesce(late, '{}') LOOP
                outcome := 'stale';
                detail := '';
                RETURN NEXT;
                refused := refused || n;
                EXIT checks WHEN alone;
            END LOOP;
        END IF;

        -- 4. Rare changes of claims.
        IF changes IS NOT NULL THEN
            PERFORM write_side.change_claims(changes);
        END IF;

        -- 5. Entry claims.
        IF cardinality(claims) > 0 THEN
            WITH inserted AS (
                INSERT INTO write_side.entry_claim
                    (id, workspace, environment, content_type_id, language, slug_hash)
                SELECT id, workspace, environment, content_type_id, language, slug_hash
                FROM unnest(claims) WITH ORDINALITY
                WHERE command <> ALL (refused)
                ORDER BY workspace, environment, content_type_id, language, slug_hash, ordinality
                ON CONFLICT DO NOTHING
                RETURNING id, slug_hash
            )
            SELECT array_agg(id || ':' || encode(slug_hash, 'hex')) INTO had FROM inserted;

            IF cardinality(had) IS DISTINCT FROM cardinality(claims) THEN
                FOR n, outcome, detail IN
                    SELECT DISTINCT ON (c.command) c.command,
                           CASE WHEN EXISTS (SELECT FROM write_side.entry_claim WHERE id = c.id)
                                THEN 'id_taken' ELSE 'slug_taken' END,
                           c.n
                    FROM (
                        SELECT command, id, slug_hash,
                               row_number() OVER (PARTITION BY command ORDER BY ordinality) AS n
                        FROM unnest(claims) WITH ORDINALITY
                    ) AS c
                    WHERE c.id || ':' || encode(c.slug_hash, 'hex') <> ALL (coalesce(had, '{}'))
                      AND c.command <> ALL (refused)
                    ORDER BY c.command, c.n
                LOOP
                    RETURN NEXT;
                    refused := refused || n;
                    EXIT checks WHEN alone;
                END LOOP;
            END IF;
        END IF;

        -- 6. Usage. Adds the sum of all commands if it fits, otherwise each command that still fits, in the
        -- order of the call. A quota without a row is full.
        IF cardinality(uses) > 0 THEN
            FOR total IN
                SELECT u.workspace, u.environment, u.quota, sum(u.n) AS used
                FROM unnest(uses) AS u
                WHERE u.command <> ALL (refused)
                GROUP BY u.workspace, u.environment, u.quota
                ORDER BY u.workspace, u.environment, u.quota
            LOOP
                UPDATE write_side.usage SET used = used + total.used
                WHERE (workspace, environment, quota) =
                      (total.workspace, total.environment, total.quota)
                  AND (bound IS NULL OR total.used <= 0 OR used + total.used <= bound);
                CONTINUE WHEN FOUND;

                FOR part IN
                    SELECT u.command, u.n AS used FROM unnest(uses) AS u
                    WHERE (u.workspace, u.environment, u.quota) =
                          (total.workspace, total.environment, total.quota)
                      AND u.command <> ALL (refused)
                    ORDER BY u.command
                LOOP
                    UPDATE write_side.usage SET used = used + part.used
                    WHERE (workspace, environment, quota) =
                          (total.workspace, total.environment, total.quota)
                      AND (bound IS NULL OR part.used <= 0 OR used + part.used <= bound);
                    CONTINUE WHEN FOUND;

                    n := part.command;
                    outcome := 'plan_limit';
                    detail := total.quota || ':' || coalesce((
                        SELECT bound FROM write_side.usage
                        WHERE (workspace, environment, quota) =
                              (total.workspace, total.environment, total.quota)), 0);
                    RETURN NEXT;
                    refused := refused || n;
                    EXIT checks WHEN alone;
                    DELETE FROM write_side.entry_claim
                    WHERE id IN (SELECT c.id FROM unnest(claims) AS c WHERE c.command = part.command);
                END LOOP;
            END LOOP;
        END IF;
    END;
    IF alone AND cardinality(refused) > 0 THEN
        RAISE EXCEPTION '%', outcome USING ERRCODE = 'CL001', DETAIL = detail;
    END IF;

    -- 7. The keys of refused commands are released.
    IF cardinality(refused) > 0 THEN
        DELETE FROM write_side.command
        WHERE key IN (SELECT commands[r].key FROM unnest(refused) AS r WHERE r <> ALL (replayed));
        SELECT count(*) INTO size FROM unnest(events) AS e WHERE e.command <> ALL (refused);
        IF size = 0 THEN RETURN; END IF;
    END IF;

    -- 8. The head, last. From here to the commit all other appends wait.
    IF staged IS NOT NULL THEN  -- a condition with a query is planned again for each call
        IF size <> (SELECT count(*) FROM write_side.staged_event WHERE batch = staged) THEN
            RAISE EXCEPTION 'stale' USING ERRCODE = 'CL001';
        END IF;
    END IF;
    UPDATE write_side.head
    SET position = position + size,
        at = greatest(at, write_side.clock())
    RETURNING position - size, head.at INTO base, moment;

    IF staged IS NOT NULL THEN
        INSERT INTO write_side.event
            (notification_id, originator_id, originator_version, topic, state, at)
        SELECT base + s.n, s.originator_id, s.originator_version, s.topic, s.state, moment
        FROM write_side.staged_event s WHERE s.batch = staged ORDER BY s.n;
    ELSIF cardinality(refused) = 0 THEN
        INSERT INTO write_side.event
            (notification_id, originator_id, originator_version, topic, state, at)
        SELECT base + ordinality, stream, version, topic, state, moment
        FROM unnest(events) WITH ORDINALITY;
    ELSE
        INSERT INTO write_side.event
            (notification_id, originator_id, originator_version, topic, state, at)
        SELECT base + row_number() OVER (ORDER BY ordinality), stream, version, topic, state, moment
        FROM unnest(events) WITH ORDINALITY
        WHERE command <> ALL (refused);
    END IF;
    PERFORM pg_notify('contentlog_event', (base + size)::text);

    n := NULL;
    outcome := 'first';
    detail := base + 1 || ':' || (extract(epoch FROM moment) * 1000)::bigint;
    RETURN NEXT;
END
$$;
REVOKE ALL ON FUNCTION write_side.append FROM PUBLIC;
