"""The rows of the read model, and rows as the parameters of set-wise statements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from write_side.domain.content_type import ContentType
from write_side.domain.entry import MAX_RENDERED, Entry, rendered_bytes
from write_side.domain.events import Plan
from write_side.domain.identity import slug_hash
from write_side.domain.rendering import Renderer

_json = msgspec.json.Encoder()


class EntryState(Struct, frozen=True):
    """``position``: of the entry's creation, which orders lists. ``slug_since``: when it got its
    slug."""

    entry: Entry
    position: int
    slug_since: datetime


class PastSlug(Struct, frozen=True, kw_only=True):
    """A slug that an entry had; ``position``: of the event that changed the slug or deleted it."""

    workspace: str
    environment: str
    position: int
    content_type_id: str
    language: str
    slug: str
    id: str
    since: datetime
    until: datetime


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
    plan: Plan
    environments: tuple[str, ...]
    created_at: datetime


class KeyRow(Struct, frozen=True, kw_only=True):
    id: str
    workspace: str
    name: str
    permissions: tuple[str, ...]
    issued_at: datetime
    revoked_at: datetime | None = None


class MediaRow(Struct, frozen=True, kw_only=True):
    workspace: str
    id: str
    url: str
    name: str
    content_type: str


class ImportRow(Struct, frozen=True, kw_only=True):
    id: str
    workspace: str
    environment: str
    content_type_id: str
    file_name: str
    created: int
    updated: int
    unchanged: int
    skipped: int
    failed: int
    imported_by: str
    imported_at: datetime
    reverted_at: datetime | None = None


BLOCKS = (2**62, 2**18, 2**13, 2**8)
"""Positions in a block of ``entry_count``, by level; each is a multiple of the next. Level 0 has
one block, for totals."""

CountKey = tuple[str, str, int, int, str, str, str, int]
"""Workspace, environment, filters, level, content type id, status, language, block: see
``entry_count``."""

NO_TYPE = str(UUID(int=0))

LocaleKey = tuple[str, str, str]
"""Workspace, environment, locale."""


class Rows(Struct):
    """The rows before a batch that its events build on, or the rows that they changed, by key.

    None stands for a row that is removed.
    """

    workspaces: dict[str, WorkspaceRow] = {}
    keys: dict[str, KeyRow] = {}
    media: dict[tuple[str, str], MediaRow | None] = {}
    imports: dict[str, ImportRow] = {}
    types: dict[str, ContentType | None] = {}
    entries: dict[str, EntryState | None] = {}
    past_slugs: list[PastSlug] = []
    past_types: list[PastType] = []


def count_changes(before: Rows, after: Rows) -> Counter[CountKey]:
    """By how much the batch changes the numbers of entries in ``entry_count``."""
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
    """By how much the batch changes the numbers of translations in ``locale_count``."""
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
    return ((entry.workspace, entry.environment, locale) for locale in entry.translations)


class Renderers:
    """One renderer for each content type at its newest version."""

    def __init__(self) -> None:
        self._made: dict[str, tuple[int, Renderer]] = {}

    def of(self, row: ContentType) -> Renderer:
        version, renderer = self._made.get(row.id, (0, None))
        if renderer is None or version != row.version:
            renderer = Renderer(row.fields, row.stages)
            self._made[row.id] = (row.version, renderer)
        return renderer


ENTRY_COLUMNS = (
    "workspace",
    "environment",
    "id",
    "content_type_id",
    "slug",
    "slug_hash",
    "slug_since",
    "title",
    "status",
    "language",
    "stage_id",
    "stage",
    "published_at",
    "created_at",
    "updated_at",
    "position",
    "version",
    "type_version",
    "stored",
    "translations",
    "fields",
)
"""The columns of ``entry``, in the order of ``entry_rows`` and of ``put_entries``."""

PORTION = 16 * 1024 * 1024
"""Characters of rendered fields that go in one statement: PostgreSQL takes no message of 1 GB."""


def portions(rows: Iterable[tuple[Any, ...]]) -> Iterator[list[list[Any]]]:
    """The parameters of as many set-wise statements as the rows need, of about PORTION each.

    A row's size is taken to be that of its last two columns, its texts and rendered fields.
    """
    gathered: list[tuple[Any, ...]] = []
    size = 0
    for row in rows:
        gathered.append(row)
        size += sum(len(text) for text in row[-2:] if text)
        if size >= PORTION:
            yield columns(gathered)
            gathered, size = [], 0
    if gathered:
        yield columns(gathered)


def columns(rows: Iterable[tuple[Any, ...]]) -> list[list[Any]]:
    """Rows as the parameters of a set-wise statement; none where there are none."""
    return [list(column) for column in zip(*rows, strict=True)]


def entry_rows(
    states: Iterable[EntryState], types: Mapping[str, ContentType], renderers: Renderers
) -> Iterator[tuple[Any, ...]]:
    """The rows of ``entry``, rendered one after another."""
    for state in states:
        entry = state.entry
        type_ = types[entry.content_type_id]
        renderer = renderers.of(type_)
        stage = renderer.stage(entry.status, entry.stage_id)
        yield (
            entry.workspace,
            entry.environment,
            entry.id,
            entry.content_type_id,
            entry.slug,
            slug_hash(entry.slug),
            state.slug_since,
            entry.title,
            entry.status,
            entry.language,
            entry.stage_id,
            None if stage is None else bytes(stage).decode(),
            entry.published_at,
            entry.created_at,
            entry.updated_at,
            state.position,
            entry.version,
            type_.version,
            _json.encode(entry.fields).decode(),
            _json.encode(entry.translations).decode() if entry.translations else None,
            renderer.render(entry.fields).decode(),
        )


def locale_rows(
    entries: Iterable[Entry], types: Mapping[str, ContentType], renderers: Renderers
) -> Iterator[tuple[Any, ...]]:
    """The rows of ``entry_locale``, in the order of ``put_locales``: one for each locale that an
    entry is translated into. Where it has a title alone, the fields are those of the entry; where
    all of them would be large, they are rendered from their texts on reading."""
    for entry in entries:
        renderer = renderers.of(types[entry.content_type_id])
        is_large = rendered_bytes(entry) > MAX_RENDERED
        for locale, translation in entry.translations.items():
            texts = fields = None
            if translation.fields and is_large:
                texts = _json.encode(translation.fields).decode()
            elif translation.fields:
                merged = renderer.translated(entry.fields, translation.fields)
                fields = renderer.render(merged).decode()
            title = translation.title or entry.title
            yield (entry.workspace, entry.environment, locale, entry.id, title, texts, fields)


PAST_SLUG_COLUMNS = tuple(
    "slug_hash" if name == "slug" else name for name in PastSlug.__struct_fields__
)
"""The columns of ``past_slug``, in the order of ``past_slug_rows`` and of ``put_past_slugs``."""


def past_slug_rows(past: Iterable[PastSlug]) -> Iterator[tuple[Any, ...]]:
    for row in past:
        yield tuple({**asdict(row), "slug": slug_hash(row.slug)}.values())


TYPE_COLUMNS = (
    "id",
    "workspace",
    "environment",
    "slug",
    "name",
    "fields",
    "stages",
    "version",
    "created_at",
    "updated_at",
)
"""The columns of ``content_type``, in the order of ``type_rows`` and of ``put_types``."""


def type_rows(types: Iterable[ContentType]) -> Iterator[tuple[Any, ...]]:
    for row in types:
        encoded = {name: _json.encode(getattr(row, name)).decode() for name in ("fields", "stages")}
        values = {**asdict(row), **encoded}
        yield tuple(values[name] for name in TYPE_COLUMNS)
