-- The counters of rate limits, shared by all API processes (write_side.lease). Unlogged: a counter
-- is needed for a minute only, and counting may restart from zero after a crash of PostgreSQL.

CREATE UNLOGGED TABLE write_side.rate_limit (
    bucket  text   NOT NULL PRIMARY KEY,
    started bigint NOT NULL,  -- start of the window, in Unix seconds
    leased  bigint NOT NULL,  -- requests of the window that are leased, used or not
    spare   bigint NOT NULL,  -- leased requests that may still be returned
    granted bigint NOT NULL   -- the size of the last lease
) WITH (fillfactor = 50);
CREATE INDEX rate_limit_started ON write_side.rate_limit (started);
