-- How far an endpoint's deliveries are in the log (ADR 49). created is the version of the event that
-- created the endpoint, so one that was removed and created again does not inherit a cursor. position is
-- that of the last change that was delivered. After a failure, the next try is at next_try, unless the
-- endpoint changes: changed_at is the time of its last event.

CREATE TABLE write_side.webhook_cursor (
    workspace     text        NOT NULL,
    name          text        NOT NULL,
    created       bigint      NOT NULL,
    position      bigint      NOT NULL,
    changed_at    timestamptz NOT NULL,
    deliveries    bigint      NOT NULL DEFAULT 0,
    failures      bigint      NOT NULL DEFAULT 0,
    attempt       int         NOT NULL DEFAULT 0,
    failing_since timestamptz,
    next_try      timestamptz,
    PRIMARY KEY (workspace, name)
) WITH (fillfactor = 50);
