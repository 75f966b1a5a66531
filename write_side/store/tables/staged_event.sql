-- The events of one large append, in order, written and compressed before the append begins: the
-- append then holds the head only for as long as it takes to copy them (deploy/adr/0016).
-- Unlogged: they matter for a moment, and an append that does not find all of them is refused.

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
