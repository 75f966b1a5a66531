-- The counters of rate limits, shared by all API processes (write_side.lease). Unlogged: a counter
-- matters for a minute, and after a crash of PostgreSQL counting starts again.

CREATE UNLOGGED TABLE write_side.rate_limit (
    bucket  text   NOT NULL PRIMARY KEY,
    started bigint NOT NULL,  -- start of the window, in Unix seconds
    leased  bigint NOT NULL,  -- requests of the window given out, used or not
    spare   bigint NOT NULL,  -- those of them that may still be given back
    granted bigint NOT NULL   -- the size of the last lease
) WITH (fillfactor = 50);
CREATE INDEX rate_limit_started ON write_side.rate_limit (started);
