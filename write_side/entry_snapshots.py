"""Current entries, from a snapshot and the events after it.

An update reads the entry that it changes. Without snapshots that takes its whole history; with
them, a bounded number of events and bytes (ADR 27). A process that has read more writes a new
snapshot for later readers. The log stays the source of truth: a snapshot is used only by code that
would fold the same one, and `contentlog verify` compares all snapshots with the log.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Sequence

import asyncpg
import msgspec
import structlog
from msgspec import Struct

from write_side.domain import entry as entries
from write_side.domain.entry import Entry
from write_side.domain.events import Translation
from write_side.store.conflicts import StoreUnavailable
from write_side.store.mapper import EventMapper
from write_side.store.recorder import Recorder
from write_side.store.streams import SNAPSHOT, StreamSlice, slice_rows

EVENTS = 32
"""Events after a snapshot that may be read before a new one is written."""
BYTES = 64 * 1024
"""The same in bytes, or twice the bytes of the snapshot."""
WRITES = 100
"""The maximum number of snapshots that one command writes."""
FOLD = 1
"""To be increased when a change of ``domain.entry`` folds the same events into a different
entry."""
_SAVE = """
INSERT INTO write_side.entry_snapshot AS s (stream, version, shape, state)
VALUES ($1, $2, $3, $4)
ON CONFLICT (stream) DO UPDATE
SET version = excluded.version, shape = excluded.shape, state = excluded.state
WHERE s.version < excluded.version OR s.shape <> excluded.shape"""
_decoder = msgspec.json.Decoder(Entry)
_log = structlog.get_logger("write_side.entry_snapshots")


def shape_of(*parts: type[Struct]) -> str:
    """A hash of the fields of these Structs and of FOLD."""
    fields = [
        f"{part.__name__}.{field.encode_name}: {field.type}"
        for part in parts
        for field in msgspec.structs.fields(part)
    ]
    return hashlib.sha256("\n".join([str(FOLD), *fields]).encode()).hexdigest()[:16]


SHAPE = shape_of(Entry, Translation)


def state_of(entry: Entry) -> str:
    """The entry as a snapshot: equal entries have equal states."""
    return msgspec.json.encode(entry).decode()


def after(entry: Entry | None, row: asyncpg.Record, mapper: EventMapper) -> Entry:
    """The entry after the event of the row, or of the row's snapshot."""
    if row["topic"] == SNAPSHOT:
        return _decoder.decode(row["state"])
    return entries.evolve(entry, mapper.event_of(row))


class _Reading:
    """One entry while its snapshot and events are read."""

    def __init__(self, stream: str) -> None:
        self.stream = stream
        self.entry: Entry | None = None
        self._events = 0
        self._bytes = 0
        self._bound = BYTES

    def take(self, row: asyncpg.Record, mapper: EventMapper) -> None:
        self.entry = after(self.entry, row, mapper)
        if row["topic"] == SNAPSHOT:
            self._bound = max(BYTES, 2 * len(row["state"]))
            return
        self._events += 1
        self._bytes += len(row["state"])

    @property
    def is_long(self) -> bool:
        return self._events > EVENTS or (self._events > 1 and self._bytes > self._bound)


async def latest_entries(
    recorder: Recorder, mapper: EventMapper, slices: Sequence[StreamSlice]
) -> AsyncIterator[Entry]:
    """The entry of each stream that has events, including deleted ones. Slices begin at the first
    event. Raises StoreUnavailable."""
    writes, index, reading = 0, -1, _Reading("")
    async for at, row in slice_rows(recorder, slices, SHAPE):
        if at != index:
            if reading.entry is not None:
                writes += await _saved(recorder, reading, writes)
                yield reading.entry
            index, reading = at, _Reading(slices[at].stream)
        reading.take(row, mapper)
    if reading.entry is not None:
        await _saved(recorder, reading, writes)
        yield reading.entry


async def _saved(recorder: Recorder, reading: _Reading, writes: int) -> bool:
    """Writes a snapshot if one is due. If that fails, the next update reads as much as this one."""
    entry = reading.entry
    if entry is None or entry.deleted or not reading.is_long or writes >= WRITES:
        return False
    try:
        await recorder.fetch(_SAVE, reading.stream, entry.version, SHAPE, state_of(entry))
    except (StoreUnavailable, asyncpg.PostgresError) as error:
        _log.warning("a snapshot cannot be written", stream=reading.stream, fault=repr(error))
    return True
