"""Reads slices of several streams at once, in pages of a limited size."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

import asyncpg
from msgspec import Struct
from msgspec.structs import astuple

from write_side.store.recorder import Recorder
from write_side.waiting import in_slices

ROWS = 2_500
BYTES = 16 * 1024 * 1024
LAST = 2**63 - 1

SNAPSHOT = "snapshot"
"""Instead of a topic: the row is not an event but the entry after all events up to its version."""
# OFFSET 0: one lookup per stream, never a join with all snapshots. The first event of a page has no
# bytes before it, so it is read regardless of its size.
_PAGE = """
SELECT o, originator_version, topic, state, at, bytes FROM (
    SELECT *, sum(octet_length(state)) OVER (ORDER BY o, originator_version) AS bytes FROM (
        SELECT wanted.o, event.*
        FROM unnest($1::text[], $2::bigint[], $3::bigint[]) WITH ORDINALITY
            AS wanted(stream, after, before, o)
        LEFT JOIN LATERAL (
            SELECT version, state FROM write_side.entry_snapshot
            WHERE stream = wanted.stream AND shape = $6
              AND wanted.after = 0 AND version < wanted.before
            OFFSET 0
        ) AS snapshot ON true
        CROSS JOIN LATERAL (
            SELECT snapshot.version AS originator_version, 'snapshot' AS topic, snapshot.state,
                   NULL::timestamptz AS at
            WHERE snapshot.version IS NOT NULL
            UNION ALL (
                SELECT originator_version, topic, state, at FROM write_side.event
                WHERE originator_id = wanted.stream
                  AND originator_version > coalesce(snapshot.version, wanted.after)
                  AND originator_version < wanted.before
                ORDER BY originator_version LIMIT $4
            )
        ) AS event
        ORDER BY wanted.o, originator_version LIMIT $4
    ) AS coming
) AS sized WHERE bytes - octet_length(state) < $5 ORDER BY o, originator_version"""


class StreamSlice(Struct, frozen=True):
    """A stream's events after one version and before another."""

    stream: str
    after: int = 0
    before: int = LAST


async def slice_rows(
    recorder: Recorder, slices: Sequence[StreamSlice], shape: str | None = None
) -> AsyncGenerator[tuple[int, asyncpg.Record], None]:
    """Events (originator_version, topic, state, at), each with the index of its slice: slice by
    slice in the given order, each by version. One statement reads a page, of up to 16 MB.
    ``shape``: a snapshot of this shape replaces the events that it includes.

    Raises StoreUnavailable.
    """
    first = 0
    left = list(slices)
    while left:
        columns = map(list, zip(*map(astuple, left), strict=True))
        rows = await recorder.fetch(_PAGE, *columns, ROWS, BYTES, shape)
        async for row in in_slices(rows):
            yield first + row["o"] - 1, row
        if len(rows) < ROWS and (not rows or rows[-1]["bytes"] < BYTES):
            return
        done = rows[-1]["o"] - 1
        first += done
        left = left[done:]
        left[0] = StreamSlice(left[0].stream, rows[-1]["originator_version"], left[0].before)
