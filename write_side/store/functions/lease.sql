-- Leases requests of rate-limit buckets to API processes, and takes back unused ones.
--
-- Each bucket is listed once, sorted by name so that two calls cannot deadlock. The arrays have its
-- limit, the number of requests asked for (0 to return only), and its previous lease: the window, the
-- number of spare requests, and the number of unused requests.
--
-- Windows follow the clock of this server and never go back.

CREATE OR REPLACE FUNCTION write_side.lease(
    seconds bigint, few bigint, share bigint, most bigint,
    buckets text[], limits bigint[], asked bigint[],
    windows bigint[], spares bigint[], unused bigint[]
) RETURNS TABLE (started bigint, granted bigint, free bigint, spare bigint, at double precision)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
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
