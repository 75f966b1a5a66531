-- Makes the rare changes of claims: of content types, keys, plans and slugs. Only a call with a single
-- command may have them:
--
--   {"content_types": [{"op": "claim"|"revise"|"release", "id", "workspace", "environment", "slug", "version"}],
--    "entries":       [{"op": "rename"|"release", "id", "slug_hash"}],
--    "keys":          [{"op": "claim"|"permit"|"revoke", "id", "workspace", "name", "secret_hash", "permissions",
--                      "environment", "expires_at"}],
--    "bounds":        [{"workspace", "environment", "quota", "bound"}],
--    "webhook_secrets": [{"op": "put"|"rotate"|"erase", "workspace", "name", "secret", "overlap"}],
--    "access":        true}
--
-- If a change is not possible, raises CL001 with the reason as message: content_type_taken,
-- content_type_in_use, slug_taken, key_taken, stale.

CREATE OR REPLACE FUNCTION write_side.change_claims(changes jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    change      jsonb;
    held        write_side.entry_claim;
    placeholder uuid;
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
            -- Creates hold a share lock on the type's row until they commit. After the DELETE above,
            -- every entry of the type is therefore visible.
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
            -- A placeholder row claims the new slug before the old one is released. An UPDATE would
            -- release the old slug first, and then wait for another transaction that is claiming the
            -- new one. If that transaction waits for the old slug, both deadlock.
            SELECT * INTO held FROM write_side.entry_claim
            WHERE id = (change ->> 'id')::uuid
              AND slug_hash <> decode(change ->> 'slug_hash', 'hex')
            FOR UPDATE;
            IF FOUND THEN
                INSERT INTO write_side.entry_claim
                VALUES (gen_random_uuid(), held.workspace, held.environment, held.content_type_id,
                        held.language, decode(change ->> 'slug_hash', 'hex'))
                ON CONFLICT DO NOTHING
                RETURNING id INTO placeholder;
                IF NOT FOUND THEN
                    RAISE EXCEPTION 'slug_taken' USING ERRCODE = 'CL001';
                END IF;
                DELETE FROM write_side.entry_claim WHERE id = held.id;
                UPDATE write_side.entry_claim SET id = held.id WHERE id = placeholder;
            END IF;
        WHEN 'release' THEN
            DELETE FROM write_side.entry_snapshot WHERE stream = 'entry/' || (change ->> 'id');
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
            INSERT INTO write_side.key_claim (id, workspace, name, secret_hash, permissions, environment,
                                              expires_at)
            VALUES (change ->> 'id', change ->> 'workspace', change ->> 'name',
                    change ->> 'secret_hash',
                    ARRAY(SELECT jsonb_array_elements_text(change -> 'permissions')),
                    change ->> 'environment', (change ->> 'expires_at')::timestamptz)
            ON CONFLICT DO NOTHING;
            IF NOT FOUND THEN
                RAISE EXCEPTION 'key_taken' USING ERRCODE = 'CL001';
            END IF;
        WHEN 'permit' THEN
            UPDATE write_side.key_claim
            SET permissions = ARRAY(SELECT jsonb_array_elements_text(change -> 'permissions')),
                environment = change ->> 'environment',
                expires_at = (change ->> 'expires_at')::timestamptz
            WHERE id = change ->> 'id' AND NOT revoked;
        WHEN 'revoke' THEN
            UPDATE write_side.key_claim SET revoked = true
            WHERE id = change ->> 'id' AND NOT revoked;
        END CASE;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'stale' USING ERRCODE = 'CL001';
        END IF;
    END LOOP;

    FOR change IN
        SELECT value FROM jsonb_array_elements(changes -> 'webhook_secrets')
    LOOP
        -- On rotation the current secret stays for the overlap. Of those before it, the newest stays until
        -- its own end, or that of the overlap. A new endpoint, or one that is removed, has no deliveries.
        DELETE FROM write_side.webhook_secret AS old
        WHERE workspace = change ->> 'workspace' AND name = change ->> 'name'
          AND (change ->> 'op' <> 'rotate' OR expires_at < (
              SELECT max(expires_at) FROM write_side.webhook_secret AS other
              WHERE (other.workspace, other.name) = (old.workspace, old.name)
          ));
        UPDATE write_side.webhook_secret
        SET expires_at = least(expires_at, clock_timestamp() + (change ->> 'overlap')::interval)
        WHERE workspace = change ->> 'workspace' AND name = change ->> 'name';
        IF change ->> 'op' <> 'rotate' THEN
            DELETE FROM write_side.webhook_cursor
            WHERE workspace = change ->> 'workspace' AND name = change ->> 'name';
            DELETE FROM write_side.webhook_delivery
            WHERE workspace = change ->> 'workspace' AND name = change ->> 'name';
        END IF;
        INSERT INTO write_side.webhook_secret (workspace, name, secret)
        SELECT change ->> 'workspace', change ->> 'name', change ->> 'secret'
        WHERE change ->> 'op' <> 'erase';
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
