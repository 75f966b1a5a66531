-- The counters of rate limits, shared by all API processes. Unlogged: they are of use for a minute,
-- and a crash of PostgreSQL begins them anew.

CREATE UNLOGGED TABLE write_side.rate_limit (
    bucket  text   NOT NULL PRIMARY KEY,
    started bigint NOT NULL,  -- Unix seconds, when the window began
    leased  bigint NOT NULL,  -- requests of the window that were given away, used or not
    spare   bigint NOT NULL,  -- those of them that may still come back
    granted bigint NOT NULL   -- what the last one who asked was given
) WITH (fillfactor = 50);
CREATE INDEX rate_limit_started ON write_side.rate_limit (started);

-- How many of the free requests of a window one who asks for some is given: those, and a block to
-- spare of a share of what is free, none where few are left.
CREATE FUNCTION write_side.rate_block(
    free bigint, asked bigint, few bigint, share bigint, most bigint
) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN asked = 0 OR free <= 0 THEN 0
        WHEN free < few THEN least(free, asked)
        ELSE least(free, asked + least(greatest(free - asked, 0) / share, most))
    END
$$;

-- Gives processes what they ask of buckets, and takes back what they have no use for.
--
-- Each bucket comes once, sorted by name (so that two calls cannot deadlock), with its limit, how
-- many requests are asked of it (none to give back only), and what its lease of before was: the
-- window, how much was spare, how much of it is unused.
--
-- The window is told by this server's clock and never goes back.
CREATE FUNCTION write_side.lease(
    seconds bigint, few bigint, share bigint, most bigint,
    buckets text[], limits bigint[], asked bigint[],
    windows bigint[], spares bigint[], unused bigint[]
) RETURNS TABLE (started bigint, granted bigint, free bigint, spare bigint, at double precision)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    present bigint := floor(extract(epoch FROM clock_timestamp()) / seconds)::bigint * seconds;
    first   bigint;
    held    record;
BEGIN
    FOR i IN 1 .. cardinality(buckets) LOOP
        first := write_side.rate_block(limits[i], asked[i], few, share, most);
        INSERT INTO write_side.rate_limit AS r (bucket, started, leased, spare, granted)
        VALUES (buckets[i], present, first, greatest(first - asked[i], 0), first)
        ON CONFLICT (bucket) DO UPDATE SET (started, leased, spare, granted) = (
            SELECT greatest(r.started, present),
                   before.leased + block.granted,
                   before.spare + greatest(block.granted - asked[i], 0),
                   block.granted
            FROM (
                SELECT CASE WHEN r.started < present THEN 0
                            WHEN r.started = windows[i] THEN greatest(r.leased - unused[i], 0)
                            ELSE r.leased END AS leased,
                       CASE WHEN r.started < present THEN 0
                            WHEN r.started = windows[i] THEN greatest(r.spare - spares[i], 0)
                            ELSE r.spare END AS spare
            ) AS before,
            LATERAL (
                SELECT write_side.rate_block(
                    limits[i] - before.leased, asked[i], few, share, most
                ) AS granted
            ) AS block
        )
        RETURNING r.started, r.granted, r.leased, r.spare INTO held;
        started := held.started;
        granted := held.granted;
        free := greatest(limits[i] - held.leased, 0);
        spare := held.spare;
        at := extract(epoch FROM clock_timestamp());
        RETURN NEXT;
    END LOOP;
END
$$;
