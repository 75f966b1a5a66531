-- How many requests to grant where so many are free and so many are asked for. Beyond what is
-- asked for, a share of the rest comes in reserve, but at most `most`; where fewer than `few` are
-- free there is no reserve.

CREATE OR REPLACE FUNCTION write_side.rate_block(
    free bigint, asked bigint, few bigint, share bigint, most bigint
) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN asked = 0 OR free <= 0 THEN 0
        WHEN free < few THEN least(free, asked)
        ELSE least(free, asked + least(greatest(free - asked, 0) / share, most))
    END
$$;
