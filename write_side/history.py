"""The history of entries, and what was there at a time: both are folds of the log."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from msgspec import Struct

from write_side.domain import content_type as content_types
from write_side.domain import entry as entries
from write_side.domain.content_type import ContentType
from write_side.domain.entry import Entry
from write_side.domain.events import EntryEvent
from write_side.domain.history import Change, change
from write_side.domain.identity import Scope, content_type_stream, entry_stream, is_id
from write_side.domain.refusals import UnknownContentType, UnknownEntry
from write_side.repository import Repository
from write_side.store.streams import LAST, StreamSlice, pages

MAX_LIMIT = 100
BYTES = 32 * 1024 * 1024
"""What all the changes that are asked for at once may take; each history has at least one."""

T = TypeVar("T")


class Allowance:
    """Told of what is folded, and free to raise before another stream is begun. One that is begun
    is read to its end, however long: what became of a single entry can always be told."""

    def begins(self) -> None:
        """A stream."""

    def folded(self) -> None:
        """An event of it."""


UNBOUNDED = Allowance()


class Asked(Struct, frozen=True):
    """The newest ``limit`` changes of an entry (1 to 100) before a version."""

    entry_id: str
    limit: int = 20
    before: int | None = None


async def histories(
    repository: Repository,
    scope: Scope,
    asked: Sequence[Asked],
    allowance: Allowance = UNBOUNDED,
) -> list[tuple[Change, ...]]:
    """In the order asked, each newest first; empty for what is no entry of the scope.

    Fewer than asked for where they are large: there are more as long as the last is not version 1.
    All of an entry's events up to the newest wanted are read, since any may have set what a change
    then replaced. Raises StoreUnavailable, and what the allowance raises.
    """
    windows = [_Window(one.limit, BYTES // len(asked)) for one in asked]
    wanted = [StreamSlice(_stream(one), before=_or_last(one.before)) for one in asked]
    begun, recorder = None, repository.recorder
    async for page in pages(recorder, wanted, recorder.long_reads):
        for index, row in page:
            if index != begun:
                allowance.begins()
                begun = index
            allowance.folded()
            event = repository.mapper.decode(row["topic"], row["state"])
            windows[index].take(event, len(row["state"]))  # type: ignore[arg-type]
    return [window.changes(scope) for window in windows]


def _stream(asked: Asked) -> str:
    """Of what is no id of an entry, and may be no text that PostgreSQL can hold, one of nothing."""
    return entry_stream(asked.entry_id if is_id(asked.entry_id) else "")


def _or_last(before: int | None) -> int:
    return LAST if before is None else before


class _Window:
    """An entry folded, and its last changes: how many, and how large, is bounded."""

    def __init__(self, limit: int, allowed: int) -> None:
        self._limit = min(max(limit, 1), MAX_LIMIT)
        self._allowed = allowed
        self._entry: Entry | None = None
        self._held: deque[tuple[Entry | None, EntryEvent, Entry, int]] = deque()
        self._size = 0

    def take(self, event: EntryEvent, size: int) -> None:
        before, self._entry = self._entry, entries.evolve(self._entry, event)
        self._held.append((before, event, self._entry, size))
        self._size += size
        while len(self._held) > self._limit or (self._size > self._allowed and len(self._held) > 1):
            self._size -= self._held.popleft()[-1]

    def changes(self, scope: Scope) -> tuple[Change, ...]:
        entry = self._entry
        if entry is None or Scope(entry.workspace, entry.environment) != scope:
            return ()
        return tuple(
            change(before, event, after) for before, event, after, _ in reversed(self._held)
        )


async def entry_at(
    repository: Repository,
    scope: Scope,
    entry_id: str,
    at: datetime,
    allowance: Allowance = UNBOUNDED,
) -> Entry:
    """The entry of the scope as it was then; raises UnknownEntry, StoreUnavailable, and what the
    allowance raises."""
    if not is_id(entry_id):
        raise UnknownEntry
    entry = await _folded(repository, entry_stream(entry_id), entries.evolve, at, allowance)
    if entry is None or entry.deleted or Scope(entry.workspace, entry.environment) != scope:
        raise UnknownEntry
    return entry


async def content_type_at(
    repository: Repository,
    scope: Scope,
    content_type_id: str,
    at: datetime,
    allowance: Allowance = UNBOUNDED,
) -> ContentType:
    """The content type of the scope as it was then; raises UnknownContentType, StoreUnavailable,
    and what the allowance raises."""
    stream = content_type_stream(content_type_id)
    found = await _folded(repository, stream, content_types.evolve, at, allowance)
    if found is None or found.removed or Scope(found.workspace, found.environment) != scope:
        raise UnknownContentType
    return found


async def _folded(
    repository: Repository,
    stream: str,
    evolve: Callable[[T | None, Any], T],
    at: datetime,
    allowance: Allowance,
) -> T | None:
    """A stream up to a time; within one, time never goes back."""
    allowance.begins()
    state: T | None = None
    recorder = repository.recorder
    async for page in pages(recorder, [StreamSlice(stream)], recorder.long_reads):
        for _, row in page:
            allowance.folded()
            event = repository.mapper.decode(row["topic"], row["state"])
            if event.at > at:
                return state
            state = evolve(state, event)
    return state
