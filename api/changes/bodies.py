"""The bodies of the change feed, and changes as a reader of a selection sees them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from api.rest import wire
from api.rest.tokens import ChangeTokens
from api.rest.wire import EntrySlug, Id, Language, SingleEntry, Status, Time, Wire, timestamp
from read_side.changes import ChangePage, ChangeRecord, ChangeSelection
from read_side.entries import EntryRow, entries_by_id
from read_side.pool import Pool
from write_side.domain.events import ChangeKind
from write_side.domain.identity import Scope
from write_side.fair_queue import FairQueue

Token = Annotated[
    str,
    Meta(
        description="An opaque token of this workspace and environment; also one for `after`.",
        pattern="^[A-Za-z0-9_-]{40}$",
    ),
]


class ChangedEntry(Wire, frozen=True):
    """The entry after the change, or the deleted one. ``content_type`` is its slug."""

    id: Id
    content_type: str
    slug: EntrySlug
    language: Language
    status: Status
    version: Annotated[int, Meta(ge=1, description="The number of changes of the entry.")]


class ChangedType(Wire, frozen=True):
    id: Id
    slug: str


class Change(Wire, frozen=True):
    """A change of an entry, or of a content type; then ``entry`` is null."""

    id: Token
    type: ChangeKind
    at: Time
    entry: ChangedEntry | None
    previous: Annotated[
        Token | None,
        Meta(description="The id of the change before, of those that the request selects."),
    ]
    content_type: ChangedType | UnsetType = UNSET
    current: Annotated[
        SingleEntry | UnsetType | None,
        Meta(description="With `include=entry`: the entry as it can be read now; null if gone."),
    ] = UNSET


class ChangesBody(Wire, frozen=True):
    data: list[Change]
    next: Annotated[Token, Meta(description="A token for `after`: the next page begins here.")]
    caught_up: Annotated[bool, Meta(description="Whether there were no more changes.")]


class CaughtUp(Wire, frozen=True):
    """The data of the event ``caught-up``."""

    next: Token


Current = Mapping[str, EntryRow]
"""Entries as they can be read now, by id."""


class TooLarge(Exception):
    """The entries of several changes are together too large to be read at once."""


class IncludedEntries(Struct, frozen=True):
    """Where the entries of changes are read, and the locale of their texts. ``most``: bytes that
    are read together; ``turns``: the queue in which large entries wait to be read."""

    pool: Pool
    locale: str
    most: int
    turns: FairQueue | None = None


class ChangeView(Struct, frozen=True):
    """How a request shows changes. ``entries``: None if it does not include any."""

    tokens: ChangeTokens
    scope: Scope
    selection: ChangeSelection
    entries: IncludedEntries | None = None

    @property
    def locale(self) -> str | None:
        return None if self.entries is None else self.entries.locale

    def token(self, change: ChangeRecord | None) -> str:
        """None: the beginning of the feed."""
        return self.tokens.token(self.scope, change)

    def previous(self, page: ChangePage) -> str | None:
        """The id of the change before the page."""
        return None if page.previous is None else self.token(page.previous)

    async def current(self, found: Sequence[ChangeRecord]) -> Current:
        """The entries of the changes as they are now; empty if the view does not include entries.
        Raises ReadModelUnavailable, Overloaded, and TooLarge if there are several changes whose
        entries are too large to be read together."""
        entries = self.entries
        if entries is None:
            return {}
        ids = list({change.entry_id for change in found if change.entry_id})
        async with AsyncExitStack() as held:

            async def before_reading(size: int, has_large: bool) -> None:
                if size > entries.most and len(found) > 1:
                    raise TooLarge
                if has_large and entries.turns is not None:
                    await held.enter_async_context(entries.turns.turn(self.scope.workspace))

            rows = await entries_by_id(
                entries.pool, self.scope, ids=ids, locale=entries.locale, before=before_reading
            )
        return {row.id: row for row in rows}

    async def with_current(
        self, found: Sequence[ChangeRecord]
    ) -> tuple[Sequence[ChangeRecord], Current]:
        """The changes, or only the first ones if their entries are too large together, and the
        entries as they are now; see ``current``. Raises ReadModelUnavailable, Overloaded."""
        while True:
            try:
                return found, await self.current(found)
            except TooLarge:
                found = found[: len(found) // 2]

    def changes(
        self, found: Iterable[ChangeRecord], previous: str | None, current: Current
    ) -> Iterator[Change]:
        """``found``: of the selection, one after another; ``previous``: the id before them."""
        for change in found:
            shown = self.change(change, previous, current)
            previous = shown.id
            yield shown

    def change(self, change: ChangeRecord, previous: str | None, current: Current) -> Change:
        return Change(
            id=self.token(change),
            type=change.kind,
            at=timestamp(change.at),
            entry=self._entry(change),
            previous=previous,
            content_type=UNSET
            if change.entry_id
            else ChangedType(change.content_type_id, change.content_type),
            current=UNSET if self.locale is None else self._current(change, current),
        )

    def _entry(self, change: ChangeRecord) -> ChangedEntry | None:
        if change.entry_id is None:
            return None
        slug, language, status = change.slug, change.language, change.status
        assert slug is not None
        assert language is not None
        assert status is not None
        if self.selection.published_only and status != "published":
            # The new slug is that of a draft.
            slug = change.former_slug or slug
        return ChangedEntry(
            change.entry_id, change.content_type, slug, language, status, change.version
        )

    def _current(self, change: ChangeRecord, current: Current) -> SingleEntry | None:
        row = current.get(change.entry_id or "")
        if row is None or (self.selection.published_only and row.status != "published"):
            return None
        assert self.locale is not None
        return wire.single_entry(row, self.locale)
