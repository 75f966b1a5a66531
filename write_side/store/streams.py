"""Reads the log stream by stream, in pages of a bounded size: slices of several streams at once, or
all streams within a range.

The index of streams gives each stream's events one after another, so a replay of a range holds one
entry at a time and spills nothing (deploy/adr/0011).
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext

import asyncpg
from msgspec import Struct

from write_side.domain.identity import ENTRY_STREAMS
from write_side.postgres.connection import Connection
from write_side.store.recorder import Recorder

ROWS = 2_500
BYTES = 16 * 1024 * 1024
LAST = 2**63 - 1
RANGE_ROWS = 2_000
EVENTS_IN_A_RANGE = 25_000
SAMPLES_FOR_A_RANGE = 32
AFTER_ALL = "\U0010ffff"

# The first event of a page has no bytes before it, so it is read whatever its size.
_PAGE = """
SELECT o, originator_version, topic, state, bytes FROM (
    SELECT *, sum(octet_length(state)) OVER (ORDER BY o, originator_version) AS bytes FROM (
        SELECT wanted.o, event.*
        FROM unnest($1::text[], $2::bigint[], $3::bigint[]) WITH ORDINALITY
            AS wanted(stream, after, before, o)
        CROSS JOIN LATERAL (
            SELECT originator_version, topic, state FROM write_side.event
            WHERE originator_id = wanted.stream AND originator_version > wanted.after
              AND originator_version < wanted.before
            ORDER BY originator_version LIMIT $4
        ) AS event
        ORDER BY wanted.o, originator_version LIMIT $4
    ) AS coming
) AS sized WHERE bytes - octet_length(state) < $5 ORDER BY o, originator_version"""
_RANGE_PAGE = """
SELECT notification_id, originator_id, originator_version, topic, state FROM (
    SELECT *, sum(octet_length(state)) OVER (
                  ORDER BY originator_id, originator_version ROWS UNBOUNDED PRECEDING)
              - octet_length(state) AS bytes_before
    FROM (
        SELECT notification_id, originator_id, originator_version, topic, state
        FROM write_side.event
        WHERE (originator_id, originator_version) > ($1, $2) AND originator_id < $3
          AND notification_id <= $4
        ORDER BY originator_id, originator_version LIMIT $5
    ) AS coming
) AS sized WHERE bytes_before < $6 ORDER BY originator_id, originator_version"""
_SAMPLES = """
SELECT originator_id FROM write_side.event
WHERE notification_id = ANY ($1) AND originator_id > $2 AND originator_id < $3
ORDER BY originator_id"""


class StreamSlice(Struct, frozen=True):
    """A stream's events after one version and before another."""

    stream: str
    after: int = 0
    before: int = LAST


async def slice_pages(
    recorder: Recorder,
    slices: Sequence[StreamSlice],
    turn: AbstractAsyncContextManager[object] = nullcontext(),  # noqa: B008
) -> AsyncIterator[list[tuple[int, asyncpg.Record]]]:
    """Events (originator_version, topic, state), each with the index of its slice: slice by slice
    in the given order, each by version. One statement reads a page. ``turn``: entered for each.

    Raises StoreUnavailable.
    """
    first = 0
    left = list(slices)
    while left:
        async with turn:
            rows = await recorder.fetch(_PAGE, *_columns(left), ROWS, BYTES)
        yield [(first + row["o"] - 1, row) for row in rows]
        if len(rows) < ROWS and (not rows or rows[-1]["bytes"] < BYTES):
            return
        done = rows[-1]["o"] - 1
        first += done
        left = left[done:]
        left[0] = StreamSlice(left[0].stream, rows[-1]["originator_version"], left[0].before)


def _columns(slices: Iterable[StreamSlice]) -> list[list[object]]:
    return [
        list(column)
        for column in zip(*((s.stream, s.after, s.before) for s in slices), strict=True)
    ]


class Range(Struct, frozen=True):
    """The streams from ``first`` on and before ``end``, by their bytes."""

    first: str
    end: str


ENTRIES = Range(*ENTRY_STREAMS)
OTHERS = (Range("", ENTRIES.first), Range(ENTRIES.end, AFTER_ALL))


async def ranges_of_entries(store: Connection, through: int) -> list[Range]:
    """All streams of entries, in ranges of about as many events each, estimated from a sample."""
    parts = max(1, through // EVENTS_IN_A_RANGE)
    wanted = min(through, parts * SAMPLES_FOR_A_RANGE)
    positions = [1 + through * n // wanted for n in range(wanted)]
    rows = await store.fetch(_SAMPLES, positions, ENTRIES.first, ENTRIES.end)
    found = [row["originator_id"] for row in rows]
    inner = sorted({found[len(found) * n // parts] for n in range(1, parts)}) if found else []
    bounds = [ENTRIES.first, *inner, ENTRIES.end]
    return [Range(first, end) for first, end in itertools.pairwise(bounds)]


async def range_pages(
    store: Connection, streams: Range, through: int, page_bytes: int
) -> AsyncIterator[list[asyncpg.Record]]:
    """The rows (notification_id, originator_id, originator_version, topic, state) of the range up
    to a position, stream by stream, in pages of about so many bytes."""
    after = (streams.first, 0)
    while True:
        rows = await store.fetch(_RANGE_PAGE, *after, streams.end, through, RANGE_ROWS, page_bytes)
        if not rows:
            return
        yield rows
        after = (rows[-1]["originator_id"], rows[-1]["originator_version"])
