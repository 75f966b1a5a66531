"""given(events).when(command).then(events): tests of decisions without a database. Handlers run
without an event loop, so a handler that does I/O fails."""

from __future__ import annotations

from collections.abc import AsyncIterator, Coroutine, Iterable
from functools import reduce
from typing import Any

import pytest
from msgspec.structs import replace

from tests.unit.samples import NOON
from write_side.commands import Command
from write_side.decision import Decision
from write_side.dispatch import HANDLERS
from write_side.domain import events as e
from write_side.domain import identity
from write_side.domain.content_type import ContentType
from write_side.domain.entry import Entry, evolve
from write_side.domain.identity import Scope
from write_side.domain.refusals import Refused, UnknownContentType
from write_side.fair_queue import FairQueue
from write_side.repository import Repository


class Memory(Repository):
    """A repository that loads from a list of events."""

    def __init__(self, events: Iterable[e.Event], media: Iterable[str]) -> None:
        self.large_commands = FairQueue(2)
        self._events = list(events)
        self._media = frozenset(media)

    async def content_type(self, scope: Scope, slug: str) -> ContentType:
        for event in self._events:
            if (
                isinstance(event, e.ContentTypeCreated)
                and event.slug == slug
                and _within(event, scope)
            ):
                return await self.content_type_by_id(event.content_type_id)
        raise UnknownContentType

    async def entry_states(
        self, entry_ids: Iterable[str]
    ) -> AsyncIterator[tuple[Entry, e.EntryEvent]]:
        for entry_id in entry_ids:
            entry: Entry | None = None
            for event in await self._stream(identity.entry_stream(entry_id)):
                entry = evolve(entry, event)
                yield entry, event

    async def entries(
        self, scope: Scope, entry_ids: Iterable[str], _most: int | None = None
    ) -> dict[str, Entry]:
        found: dict[str, Entry] = {}
        for entry_id in entry_ids:
            entry = reduce(evolve, await self._stream(identity.entry_stream(entry_id)), None)
            if entry is not None and entry.scope == scope and not entry.deleted:
                found[entry_id] = entry
        return found

    async def types_of_entries(self, scope: Scope, entry_ids: Iterable[str]) -> dict[str, str]:
        wanted, found = set(entry_ids), {}
        for event in self._events:
            if (
                isinstance(event, e.EntryCreated)
                and event.entry_id in wanted
                and _within(event, scope)
            ):
                entry = reduce(
                    evolve, await self._stream(identity.entry_stream(event.entry_id)), None
                )
                assert entry is not None
                if not entry.deleted:
                    content_type = await self.content_type_by_id(event.content_type_id)
                    found[event.entry_id] = content_type.slug
        return found

    async def known_media(self, _workspace: str, media_ids: Iterable[str]) -> set[str]:
        return set(media_ids) & self._media

    async def _stream(self, stream: str) -> list[Any]:
        return [event for event in self._events if _stream_of(event) == stream]


class Outcome:
    """The decision of a handler, or its refusal."""

    def __init__(self, decision: Decision | Refused) -> None:
        self._decision = decision

    @property
    def decision(self) -> Decision:
        assert isinstance(self._decision, Decision), repr(self._decision)
        return self._decision

    def then(self, *expected: e.Event) -> None:
        """Asserts that exactly these events follow, regardless of their times."""
        happened = [replace(each.event, at=NOON) for each in self.decision.events]
        assert happened == [replace(event, at=NOON) for event in expected]

    def then_refused(self, refusal: type[Refused], text: str) -> None:
        """Asserts that the refusal has exactly this class and contains this text."""
        assert type(self._decision) is refusal, repr(self._decision)
        assert text in str(self._decision)


class given:  # noqa: N801
    """The events so far. ``media`` holds the ids of files in the library."""

    def __init__(self, *events: e.Event, media: Iterable[str] = ()) -> None:
        self._repository = Memory(events, media)

    def when(self, command: Command) -> Outcome:
        try:
            return Outcome(_driven(HANDLERS[type(command)](command, self._repository)))
        except Refused as refusal:
            return Outcome(refusal)


def _driven(coroutine: Any) -> Decision:
    assert isinstance(coroutine, Coroutine)
    try:
        coroutine.send(None)
    except StopIteration as done:
        decision = done.value
    else:
        pytest.fail("The handler waits for something besides its repository")
    assert isinstance(decision, Decision)
    return decision


def _within(event: e.Event, scope: Scope) -> bool:
    return (event.workspace, event.environment) == (scope.workspace, scope.environment)


def _stream_of(event: e.Event) -> str:
    if isinstance(event, e.EntryEvent):
        return identity.entry_stream(event.entry_id)
    if isinstance(event, e.ContentTypeEvent):
        return identity.content_type_stream(event.content_type_id)
    if isinstance(event, e.MediaEvent):
        return identity.media_stream(event.workspace, event.media_id)
    return identity.workspace_stream(event.workspace)
