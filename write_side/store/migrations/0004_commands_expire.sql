-- A command may be sent again for 24 hours and is then a new one; an import's id is for ever.
--
-- The append takes an expired row over where it would have answered from it. Nothing else of it
-- changes. The row it does not take over is locked by this, so that whoever deletes old rows cannot
-- do so between the look at the row and the answer from it.

DO $migration$
DECLARE
    source text := pg_get_functiondef('write_side.append'::regproc);
    plain  text := 'ON CONFLICT (key) DO NOTHING';
    expiring text := 'ON CONFLICT (key) DO UPDATE
            SET digest = excluded.digest, originator_id = excluded.originator_id,
                originator_version = excluded.originator_version, events = excluded.events,
                at = excluded.at
            WHERE command.at < excluded.at - interval ''24 hours''
              AND command.key NOT LIKE ''import/%''';
BEGIN
    IF position(plain IN source) = 0 THEN
        RAISE EXCEPTION 'write_side.append is not the one of migration 1';
    END IF;
    EXECUTE replace(source, plain, expiring);
END
$migration$;
