"""Reads the log stream by stream: ranges of streams, and the pages of one.

The index of streams gives each stream's events one after another, so a replay of a range holds one
entry at a time and spills nothing (deploy/adr/0011).
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator

import asyncpg
from msgspec import Struct

from write_side.domain.identity import ENTRY_STREAMS
from write_side.postgres.connection import Connection

PAGE = 2_000
EVENTS_IN_A_RANGE = 25_000
SAMPLES_FOR_A_RANGE = 32
AFTER_ALL = "\U0010ffff"

# The first event of a page has no bytes before it, so it is read whatever its size.
_PAGE = """
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


async def pages(
    store: Connection, streams: Range, through: int, page_bytes: int
) -> AsyncIterator[list[asyncpg.Record]]:
    """The rows (notification_id, originator_id, originator_version, topic, state) of the range up
    to a position, stream by stream, in pages of about so many bytes."""
    after = (streams.first, 0)
    while True:
        rows = await store.fetch(_PAGE, *after, streams.end, through, PAGE, page_bytes)
        if not rows:
            return
        yield rows
        after = (rows[-1]["originator_id"], rows[-1]["originator_version"])
