"""The history of entries, and entries and content types at a past time, as folds of the log.

All functions raise StoreUnavailable and what their budget raises. Because a page of events takes up
to 16 MB, these functions wait for a turn for long reads, and may raise Overloaded; ``entries_at``,
``entries_after``, ``content_types_at`` and ``media_at`` do not: their caller holds a turn.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import aclosing
from datetime import datetime
from typing import Any, TypeVar

import asyncpg
from msgspec import Struct

from write_side.domain import content_type as content_types
from write_side.domain import entry as entries
from write_side.domain.content_type import ContentType
from write_side.domain.entry import Entry
from write_side.domain.entry_changes import Change, change
from write_side.domain.events import EntryEvent
from write_side.domain.identity import Scope, content_type_stream, entry_stream, is_id, media_stream
from write_side.domain.refusals import UnknownEntry, UnknownVersion
from write_side.domain.workspace import Media, evolve_media
from write_side.entry_snapshots import SHAPE, after
from write_side.repository import Repository
from write_side.store.streams import LAST, StreamSlice, slice_rows
from write_side.waiting import in_slices

MAX_LIMIT = 100
BYTES = 32 * 1024 * 1024
"""Bytes of all changes that are read at a time; each history has at least one."""

T = TypeVar("T")


class ReadBudget:
    """``events``: the number of events that were read; ``read``: their bytes. A subclass may raise
    before a stream is read. A stream is always read to its end, so the history of a single entry is
    never refused."""

    events = read = 0

    def begin_stream(self) -> None:
        pass

    def count_event(self, size: int) -> None:
        self.events += 1
        self.read += size


UNBOUNDED = ReadBudget()


class HistoryRequest(Struct, frozen=True):
    """The newest ``limit`` changes of an entry (1 to 100) before a version."""

    entry_id: str
    limit: int = 20
    before: int | None = None

    def stream_slice(self) -> StreamSlice:
        # Text that is not an id may be impossible to store in PostgreSQL; no entry has an empty id.
        stream = entry_stream(self.entry_id if is_id(self.entry_id) else "")
        return StreamSlice(stream, before=LAST if self.before is None else self.before)


async def histories(
    repository: Repository,
    scope: Scope,
    requests: Sequence[HistoryRequest],
    budget: ReadBudget = UNBOUNDED,
) -> list[tuple[Change, ...]]:
    """In the order of the requests, each newest first; empty if the scope does not have the entry.

    If changes are large, there may be fewer than requested; there are more until version 1 is
    reached. All of an entry's events up to the newest requested are read, because any of them may
    have set the value that a change replaced.
    """
    found = [_LatestChanges(one.limit, BYTES // len(requests)) for one in requests]
    slices = [one.stream_slice() for one in requests]
    async with repository.recorder.long_reads.turn(scope.workspace):
        async for index, row in _rows(repository, slices, budget):
            found[index].take(repository.mapper.event_of(row), len(row["state"]))
    return [await latest.changes(scope) for latest in found]


class _LatestChanges:
    """An entry and its last changes, of a bounded number and size."""

    def __init__(self, limit: int, max_size: int) -> None:
        self._limit = min(max(limit, 1), MAX_LIMIT)
        self._max_size = max_size
        self._entry: Entry | None = None
        self._held: deque[tuple[Entry | None, EntryEvent, Entry, int]] = deque()
        self._size = 0

    def take(self, event: EntryEvent, size: int) -> None:
        before, self._entry = self._entry, entries.evolve(self._entry, event)
        self._held.append((before, event, self._entry, size))
        self._size += size
        while len(self._held) > self._limit or (
            self._size > self._max_size and len(self._held) > 1
        ):
            self._size -= self._held.popleft()[-1]

    async def changes(self, scope: Scope) -> tuple[Change, ...]:
        if self._entry is None or self._entry.scope != scope:
            return ()
        found = [change(*held[:3]) async for held in in_slices(reversed(self._held))]
        return tuple(found)


async def entry_versions(
    repository: Repository, scope: Scope, entry_id: str, versions: Collection[int]
) -> dict[int, Entry]:
    """The entry of the scope at these versions. Raises UnknownEntry and UnknownVersion."""
    request = HistoryRequest(entry_id, before=max(versions) + 1)
    entry: Entry | None = None
    found: dict[int, Entry] = {}
    async with repository.recorder.long_reads.turn(scope.workspace):
        async for _, row in _rows(repository, [request.stream_slice()], UNBOUNDED):
            entry = entries.evolve(entry, repository.mapper.event_of(row))
            if entry.version in versions:
                found[entry.version] = entry
    if entry is None or entry.scope != scope:
        raise UnknownEntry
    if missing := set(versions) - set(found):
        raise UnknownVersion(min(missing), entry.version)
    return found


async def entries_at(
    repository: Repository,
    scope: Scope,
    ids: Iterable[str],
    at: datetime,
    budget: ReadBudget,
) -> dict[str, Entry]:
    """The entries with these ids that the scope had at that time."""
    streams = {entry_stream(one): one for one in ids if is_id(one)}
    found = await _folded(repository, streams, entries.evolve, at, budget)
    return {one: entry for one, entry in found.items() if _is_of(scope, entry, entry.deleted)}


async def entries_after(
    repository: Repository,
    scope: Scope,
    versions: Mapping[str, int],
    budget: ReadBudget,
) -> dict[str, Entry]:
    """The entries of the scope after these versions, by id; a snapshot may replace earlier
    events."""
    ids = list(versions)
    slices = [StreamSlice(entry_stream(one), before=versions[one] + 1) for one in ids]
    found: dict[str, Entry] = {}
    async for index, row in _rows(repository, slices, budget, SHAPE):
        found[ids[index]] = after(found.get(ids[index]), row, repository.mapper)
    return {one: entry for one, entry in found.items() if _is_of(scope, entry, entry.deleted)}


async def content_types_at(
    repository: Repository,
    scope: Scope,
    ids: Iterable[str],
    at: datetime,
    budget: ReadBudget,
) -> dict[str, ContentType]:
    """The content types with these ids that the scope had at that time."""
    streams = {content_type_stream(one): one for one in ids}
    found = await _folded(repository, streams, content_types.evolve, at, budget)
    return {
        one: found_type
        for one, found_type in found.items()
        if _is_of(scope, found_type, found_type.removed)
    }


async def media_at(
    repository: Repository,
    workspace: str,
    ids: Iterable[str],
    at: datetime,
    budget: ReadBudget = UNBOUNDED,
) -> dict[str, Media]:
    """The files with these ids that the workspace's library had at that time."""
    streams = {media_stream(workspace, one): one for one in ids}
    found = await _folded(repository, streams, evolve_media, at, budget)
    return {one: media for one, media in found.items() if not media.removed}


def _is_of(scope: Scope, found: Entry | ContentType, is_gone: bool) -> bool:
    return found.scope == scope and not is_gone


async def _folded(
    repository: Repository,
    streams: Mapping[str, str],
    evolve: Callable[[T | None, Any], T],
    at: datetime,
    budget: ReadBudget,
) -> dict[str, T]:
    """The streams folded up to a time, by their names in ``streams``; within a stream, time never
    goes back."""
    names = list(streams.values())
    found: dict[str, T] = {}
    slices = [StreamSlice(stream) for stream in streams]
    async with aclosing(_rows(repository, slices, budget)) as rows:
        async for index, row in rows:
            if row["at"] <= at:
                event = repository.mapper.event_of(row)
                found[names[index]] = evolve(found.get(names[index]), event)
            elif index == len(names) - 1:
                break
    return found


async def _rows(
    repository: Repository,
    slices: Sequence[StreamSlice],
    budget: ReadBudget,
    shape: str | None = None,
) -> AsyncGenerator[tuple[int, asyncpg.Record], None]:
    """Each row, with the index of its slice."""
    current = None
    async for index, row in slice_rows(repository.recorder, slices, shape):
        if index != current:
            budget.begin_stream()
            current = index
        budget.count_event(len(row["state"]))
        yield index, row
