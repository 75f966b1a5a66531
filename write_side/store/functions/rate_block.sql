-- The number of requests to grant if `free` requests are free and `asked` are asked for. In addition to
-- those asked for, one in `share` of the rest is granted as a reserve, `most` at most. If fewer than
-- `few` requests are free, there is no reserve.

CREATE OR REPLACE FUNCTION write_side.rate_block(
    free bigint, asked bigint, few bigint, share bigint, most bigint
) RETURNS bigint
LANGUAGE sql IMMUTABLE RETURN CASE
    WHEN asked = 0 OR free <= 0 THEN 0
    WHEN free < few THEN least(free, asked)
    ELSE least(free, asked + least(greatest(free - asked, 0) / share, most))
END;
