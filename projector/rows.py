"""The rows of the read model, and rows as the parameters of set-based statements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, astuple

from read_side.changes import ChangeRecord
from read_side.lookups import ImportRun, MediaFile
from read_side.notices import FedChange
from write_side.domain.content_type import ContentType
from write_side.domain.entry import Entry
from write_side.domain.webhook import Webhook

Types: TypeAlias = Mapping[str, ContentType]
"""Content types by id."""
TypeKey: TypeAlias = tuple[str, str]
"""A content type's workspace and id."""
TYPES_KEPT = 2_000
"""Content types in a cache; a cache with more is emptied before the next batch. A content type of
20 fields takes 10 kB, and the data derived from one with 15 indexed fields 20 kB."""
_json = msgspec.json.Encoder()


class EntryState(Struct, frozen=True):
    """``position``: of the entry's creation, by which lists are ordered. ``slug_since``: the time
    at which it got its slug."""

    entry: Entry
    position: int
    slug_since: datetime


class PastSlug(NamedTuple):
    """A slug that an entry had; ``position``: of the event that changed the slug or deleted it."""

    workspace: str
    environment: str
    position: int
    content_type_id: str
    language: str
    slug_hash: bytes
    id: str
    since: datetime
    until: datetime


class PastVersion(NamedTuple):
    """A version of an entry that has ended. ``title`` and ``slug``: None for a text that filters do
    not compare."""

    workspace: str
    environment: str
    content_type_id: str
    status: str
    language: str
    position: int
    until: datetime
    updated_at: datetime
    lifetime: int
    id: str
    version: int
    stage_id: str | None
    created_at: datetime
    published_at: datetime | None
    title: str | None
    slug: str | None


class PastType(Struct, frozen=True, kw_only=True):
    """A content type that was removed; ``position``: of the event that removed it."""

    workspace: str
    environment: str
    slug: str
    position: int
    id: str
    since: datetime
    until: datetime


class WorkspaceRow(Struct, frozen=True, kw_only=True):
    slug: str
    name: str


class MediaRow(MediaFile, frozen=True, kw_only=True):
    workspace: str


class WebhookRow(Webhook, frozen=True, kw_only=True):
    """``position``: of its last event."""

    position: int


class ImportRow(ImportRun, frozen=True, kw_only=True):
    workspace: str
    environment: str
    content_type_id: str


BLOCKS = (2**62, 2**18, 2**13, 2**8)
"""Positions in a block of ``entry_count``, by level; each is a multiple of the next. Level 0 has
one block, for totals."""

CountKey = tuple[str, str, int, int, str, str, str, int]
"""Workspace, environment, filters, level, content type id, status, language, block: see
``entry_count``."""

NO_TYPE = str(UUID(int=0))

LocaleKey = tuple[str, str, str, str]
"""Workspace, environment, locale, status."""

CHANGE_COLUMNS = ("workspace", "environment", *ChangeRecord.__struct_fields__)


class Rows(Struct):
    """The rows before a batch that its events build on, or the rows that they changed, by key.

    None means that the row is removed.
    """

    workspaces: dict[str, WorkspaceRow] = {}
    media: dict[tuple[str, str], MediaRow | None] = {}
    webhooks: dict[tuple[str, str], WebhookRow | None] = {}
    imports: dict[str, ImportRow] = {}
    types: dict[str, ContentType | None] = {}
    entries: dict[str, EntryState | None] = {}
    past_slugs: list[PastSlug] = []
    past_types: list[PastType] = []
    past_versions: list[PastVersion] = []
    changes: list[FedChange] = []

    def added_rows(self) -> Iterator[tuple[str, Sequence[str], Sequence[tuple[Any, ...]]]]:
        """Each table to which rows are only added, its columns in the order of ``put_past_slugs``
        and the like, and the rows."""
        yield "past_slug", PastSlug._fields, self.past_slugs
        yield "past_version", PastVersion._fields, self.past_versions
        changes = [(fed.workspace, fed.environment, *astuple(fed.change)) for fed in self.changes]
        yield "change", CHANGE_COLUMNS, changes


def count_changes(before: Rows, after: Rows) -> Counter[CountKey]:
    """The changes that the batch makes to the numbers of entries in ``entry_count``."""
    changes: Counter[_Place] = Counter()
    for entry_id, state in after.entries.items():
        known = before.entries.get(entry_id)
        if known is not None:
            changes[_place(known)] -= 1
        if state is not None:
            changes[_place(state)] += 1
    counts: Counter[CountKey] = Counter()
    for place, n in changes.items():
        for key in _count_keys(*place) if n else ():
            counts[key] += n
    return Counter({key: n for key, n in counts.items() if n})


_Place = tuple[str, str, str, str, str, int]
"""Workspace, environment, content type id, status, language, block of the last level."""


def _place(state: EntryState) -> _Place:
    entry = state.entry
    return (
        entry.workspace,
        entry.environment,
        entry.content_type_id,
        entry.status,
        entry.language,
        state.position - state.position % BLOCKS[-1],
    )


def _count_keys(
    workspace: str, environment: str, type_id: str, status: str, language: str, position: int
) -> Iterator[CountKey]:
    """The counts that an entry is part of. ``count_entries.sql`` has the same lists."""
    for level, size in enumerate(BLOCKS):
        block = position - position % size
        yield workspace, environment, 0, level, NO_TYPE, "", "", block
        yield workspace, environment, 1, level, type_id, "", "", block
        yield workspace, environment, 3, level, type_id, status, language, block


def locale_changes(before: Rows, after: Rows) -> Counter[LocaleKey]:
    """The changes that the batch makes to the numbers of translations in ``locale_count``."""
    changes: Counter[LocaleKey] = Counter()
    for entry_id, state in after.entries.items():
        known = before.entries.get(entry_id)
        if known is not None:
            changes.subtract(locale_keys(known.entry))
        if state is not None:
            changes.update(locale_keys(state.entry))
    return Counter({key: n for key, n in changes.items() if n})


def locale_keys(entry: Entry) -> Iterator[LocaleKey]:
    """A key for each translation."""
    of_entry = entry.workspace, entry.environment
    return ((*of_entry, locale, entry.status) for locale in entry.translations)


def columns(rows: Iterable[tuple[Any, ...]]) -> list[list[Any]]:
    """Rows as the parameters of a set-based statement; none if there are no rows."""
    return [list(column) for column in zip(*rows, strict=True)]


TYPE_COLUMNS = tuple(
    name for name in ContentType.__struct_fields__ if name not in ("known", "removed")
)
"""The columns of ``content_type``, in the order of ``type_rows`` and of ``put_types``."""


def type_rows(types: Iterable[ContentType]) -> Iterator[tuple[Any, ...]]:
    for row in types:
        encoded = {name: _json.encode(getattr(row, name)).decode() for name in ("fields", "stages")}
        values = {**asdict(row), **encoded}
        yield tuple(values[name] for name in TYPE_COLUMNS)
