-- The events of large appends, in order. They are written and compressed before the append begins, so
-- that it locks the head only while it copies them (deploy/adr/0016). Unlogged: rows are needed only
-- until their append, which is refused if some are missing.

CREATE UNLOGGED TABLE write_side.staged_event (
    batch              uuid        NOT NULL,
    n                  int         NOT NULL,
    originator_id      text COLLATE "C" NOT NULL,
    originator_version bigint      NOT NULL,
    topic              text        NOT NULL,
    state              text        NOT NULL,
    at                 timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (batch, n)
);
