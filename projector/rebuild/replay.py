"""Replays one range of entries' streams into unindexed tables: fold, render, COPY."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable

from msgspec import Struct

from projector.checkpoint import hold
from projector.columns import (
    ENTRY_COLUMNS,
    LOCALE_COLUMNS,
    PAST_SLUG_COLUMNS,
    Renderers,
    entry_rows,
    locale_rows,
    past_slug_rows,
)
from projector.known import types_by_id
from projector.log import pages
from projector.partitions import Partitions
from projector.projection import Inconsistent, Recorded
from projector.rows import CountKey, EntryState, PastSlug, TypeRow, count_key, evolved, given_up
from write_side.domain.events import EntryCreated
from write_side.postgres.connection import Connection
from write_side.store.mapper import EventMapper
from write_side.store.streams import Range

TYPES_KEPT = 5_000


class Replayed(Struct, frozen=True, tag=True):
    """What came of a range: how many events were read, and how many entries live, by their key."""

    events: int
    counts: list[tuple[CountKey, int]]


class Replay:
    """Writes what ranges of streams come to, into the read model that is being built.

    ``epoch`` is the build's own: where the tables have another, they are another build's, and
    Fenced is raised. ``page_bytes`` bounds what is held in memory: a few times as much.
    """

    def __init__(
        self, store: Connection, model: Connection, epoch: int, through: int, page_bytes: int
    ) -> None:
        self._store = store
        self._model = model
        self._epoch = epoch
        self._through = through
        self._page_bytes = page_bytes
        self._mapper = EventMapper()
        self._types: dict[str, TypeRow] = {}
        self._renderers = Renderers()
        self._partitions = Partitions(model)

    async def replay(self, streams: Range, read: Callable[[int], None]) -> Replayed:
        """``read`` is told of the events as they are read.

        Raises Halted, Inconsistent, Fenced.
        """
        events, counts = 0, Counter[CountKey]()
        folding = Folding()
        async for page in self._pages(streams):
            events += len(page)
            read(len(page))
            await self._write(folding.living(page), counts)
            await self._write_past(folding.given_up)
        await self._write(folding.last(), counts)
        return Replayed(events, sorted(counts.items()))

    def _pages(self, streams: Range) -> AsyncIterator[list[Recorded]]:
        return pages(self._store, self._mapper, streams, self._through, self._page_bytes)

    async def _write(self, states: list[EntryState], counts: Counter[CountKey]) -> None:
        if not states:
            return
        await self._know_types({state.entry.content_type_id for state in states})
        await self._partitions.ensure(states)
        async with self._model.transaction():
            await hold(self._model, self._epoch)
            await self._copy(states)
        counts.update(count_key(state.entry) for state in states)

    async def _write_past(self, slugs: list[PastSlug]) -> None:
        if not slugs:
            return
        async with self._model.transaction():
            await hold(self._model, self._epoch)
            await self._model.copy_records_to_table(
                "past_slug", records=past_slug_rows(slugs), columns=PAST_SLUG_COLUMNS
            )

    async def _copy(self, states: list[EntryState]) -> None:
        await self._model.copy_records_to_table(
            "entry",
            records=entry_rows(states, self._types, self._renderers),
            columns=ENTRY_COLUMNS,
        )
        translated = [state.entry for state in states if state.entry.translations]
        if translated:
            await self._model.copy_records_to_table(
                "entry_locale",
                records=locale_rows(translated, self._types, self._renderers),
                columns=LOCALE_COLUMNS,
            )

    async def _know_types(self, wanted: set[str]) -> None:
        if len(self._types) > TYPES_KEPT:
            self._types.clear()
            self._renderers = Renderers()
        missing = wanted - self._types.keys()
        if missing:
            self._types.update(await types_by_id(self._model, missing))
        if not wanted <= self._types.keys():
            raise Inconsistent(
                f"entries of the types {sorted(wanted - self._types.keys())}, "
                "which are not in the log"
            )


class Folding:
    """Folds streams that come one after another; one may go on in the next page.

    ``given_up``: the slugs that entries gave up in the page that was folded last.
    """

    def __init__(self) -> None:
        self.given_up: list[PastSlug] = []
        self._stream = ""
        self._state: EntryState | None = None

    def living(self, page: Iterable[Recorded]) -> list[EntryState]:
        """The entries whose streams ended before the page did, but those that were deleted."""
        ended: list[EntryState] = []
        self.given_up = []
        for recorded in page:
            if recorded.stream != self._stream:
                ended += self.last()
                self._stream = recorded.stream
            before, self._state = self._state, following(self._state, recorded)
            past = given_up(before, self._state, recorded.position)
            if past is not None:
                self.given_up.append(past)
        return ended

    def last(self) -> list[EntryState]:
        state, self._state = self._state, None
        return [] if state is None or state.entry.deleted else [state]


def following(state: EntryState | None, recorded: Recorded) -> EntryState:
    """The entry after its next event. Raises Inconsistent where that is not its next."""
    event = recorded.event
    if isinstance(event, EntryCreated) != (state is None):
        raise Inconsistent(f"{recorded.stream} does not begin with its creation, or is made twice")
    state = evolved(state, event, recorded.position)  # type: ignore[arg-type]
    if state.entry.version != recorded.version:
        raise Inconsistent(
            f"{recorded.stream} has version {recorded.version} at position {recorded.position}, "
            f"where {state.entry.version} was due"
        )
    return state
