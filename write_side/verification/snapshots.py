"""Compares the snapshots of entries with the log: each with the fold of the events up to it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, Literal

import asyncpg

from write_side.domain.entry import Entry, evolve
from write_side.domain.events import Event
from write_side.domain.identity import ENTRY_STREAMS
from write_side.entry_snapshots import SHAPE, state_of
from write_side.postgres.connection import Connection
from write_side.store.log_reader import Range

_STORED = """
SELECT stream, version, md5(state) AS digest FROM write_side.entry_snapshot
WHERE stream >= $1 AND stream < $2 AND shape = $3"""


async def stored_snapshots(store: Connection, streams: Range) -> SnapshotCheck:
    return SnapshotCheck(await store.fetch(_STORED, streams.first, streams.end, SHAPE))


class SnapshotCheck:
    """Receives the events of a range of streams, stream by stream."""

    def __init__(self, rows: list[asyncpg.Record]) -> None:
        self._stored = {row["stream"]: (row["version"], row["digest"]) for row in rows}
        self._wrong: list[tuple[str, Literal["unknown", "different"]]] = []
        self._stream = ""
        self._entry: Entry | None = None

    def take(self, events: Iterable[tuple[asyncpg.Record, Event]]) -> None:
        for row, event in events:
            if row["originator_id"] in self._stored:
                self._take(row["originator_id"], row["originator_version"], event)

    def _take(self, stream: str, version: int, event: Any) -> None:
        before = self._entry if stream == self._stream else None
        self._stream, self._entry = stream, evolve(before, event)
        at, digest = self._stored[stream]
        if version != at:
            return
        del self._stored[stream]
        state = state_of(self._entry).encode()
        if hashlib.md5(state, usedforsecurity=False).hexdigest() != digest:
            self._wrong.append((_id(stream), "different"))

    def wrong(self) -> list[tuple[str, Literal["unknown", "different"]]]:
        """The ids of the entries with wrong snapshots, after the last event."""
        return [*self._wrong, *((_id(stream), "unknown") for stream in self._stored)]


def _id(stream: str) -> str:
    return stream.removeprefix(ENTRY_STREAMS[0])
