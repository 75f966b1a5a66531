"""Reads the log over one connection: in the order of positions, or stream by stream.

Rows have the columns notification_id, originator_id, originator_version, topic, state and at. Where
``workspaces`` are given, the state of an event of another workspace is null and is not sent. The
index of streams gives each stream's events one after another, so a replay of a range holds one
entry at a time and spills nothing to disk (ADR 11).
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Sequence

import asyncpg
from msgspec import Struct

from write_side.postgres.connection import Connection
from write_side.postgres.statements import statement

PAGE = 2_000
EVENTS_IN_A_RANGE = 25_000
SAMPLES_FOR_A_RANGE = 32
AFTER_ALL = "\U0010ffff"

_BATCH = statement("write_side", "log_batch")
_PAGE = statement("write_side", "stream_page")
HEAD = "SELECT position FROM write_side.head"
_AT = """
SELECT originator_id, originator_version, at FROM write_side.event WHERE notification_id = $1"""
_SAMPLES = """
SELECT originator_id FROM write_side.event
WHERE notification_id = ANY ($1) AND originator_id > $2 AND originator_id < $3
ORDER BY originator_id"""


class StreamRange(Struct, frozen=True):
    """The streams from ``first``, inclusive, to ``end``, exclusive, ordered by bytes."""

    first: str
    end: str


ENTRIES = StreamRange("entry/", "entry0")
OTHERS = (StreamRange("", ENTRIES.first), StreamRange(ENTRIES.end, AFTER_ALL))


async def head(store: Connection) -> int:
    """The position of the last event; 0 if there is none."""
    return int(await store.fetchval(HEAD))


async def event_at(store: Connection, position: int) -> asyncpg.Record | None:
    """The stream, version and time of the event at a position."""
    return await store.fetchrow(_AT, position)


async def batch(
    store: Connection,
    after: int,
    limit: int,
    batch_bytes: int,
    stream: str | None = None,
    workspaces: Sequence[str] | None = None,
) -> list[asyncpg.Record]:
    """The rows after a position, or those of one stream, up to a number of rows and about a number
    of bytes."""
    return await store.fetch(_BATCH, after, limit, batch_bytes, stream, workspaces)


async def ranges_of_entries(store: Connection, through: int) -> list[StreamRange]:
    """All streams of entries, in ranges of about the same number of events, estimated from a
    sample."""
    parts = max(1, through // EVENTS_IN_A_RANGE)
    wanted = min(through, parts * SAMPLES_FOR_A_RANGE)
    positions = [1 + through * n // wanted for n in range(wanted)]
    rows = await store.fetch(_SAMPLES, positions, ENTRIES.first, ENTRIES.end)
    found = [row["originator_id"] for row in rows]
    inner = sorted({found[len(found) * n // parts] for n in range(1, parts)}) if found else []
    bounds = [ENTRIES.first, *inner, ENTRIES.end]
    return [StreamRange(first, end) for first, end in itertools.pairwise(bounds)]


async def pages(
    store: Connection,
    streams: StreamRange,
    through: int,
    page_bytes: int,
    workspaces: Sequence[str] | None = None,
) -> AsyncIterator[list[asyncpg.Record]]:
    """The rows of the range up to a position, stream by stream, in pages of about this many
    bytes."""
    after = (streams.first, 0)
    while True:
        rows = await store.fetch(_PAGE, *after, streams.end, through, PAGE, page_bytes, workspaces)
        if not rows:
            return
        yield rows
        after = (rows[-1]["originator_id"], rows[-1]["originator_version"])
