"""The entry, folded from its events.

The projector folds with the same functions, so the read model and the decisions cannot differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TypeVar

from msgspec import Raw, Struct, UnsetType
from msgspec.structs import replace

from write_side.domain.events import (
    EntryCreated,
    EntryDeleted,
    EntryEvent,
    EntryUpdated,
    Status,
    Translation,
)
from write_side.domain.identity import Scope
from write_side.domain.refusals import InvalidEntry
from write_side.domain.values import NULL

T = TypeVar("T")


class Entry(Struct, frozen=True, kw_only=True):
    """An entry, folded from its stream. ``version`` is its number of events."""

    id: str
    workspace: str
    environment: str
    content_type_id: str
    slug: str
    title: str
    language: str
    status: Status
    stage_id: str | None
    fields: dict[str, Raw]
    translations: dict[str, Translation]
    published_at: datetime | None
    created_at: datetime
    updated_at: datetime
    version: int
    deleted: bool = False

    @property
    def scope(self) -> Scope:
        return Scope(self.workspace, self.environment)


def evolve(entry: Entry | None, event: EntryEvent) -> Entry:
    """The entry after the event."""
    if isinstance(event, EntryCreated):
        return _created(event)
    assert entry is not None, f"{type(event).__name__} of an entry that was never created"
    if isinstance(event, EntryDeleted):
        return replace(entry, deleted=True, updated_at=event.at, version=entry.version + 1)
    return _updated(entry, event)


def fold(events: list[EntryEvent]) -> Entry | None:
    entry: Entry | None = None
    for event in events:
        entry = evolve(entry, event)
    return entry


def _created(event: EntryCreated) -> Entry:
    assert event.environment is not None
    return Entry(
        id=event.entry_id,
        workspace=event.workspace,
        environment=event.environment,
        content_type_id=event.content_type_id,
        slug=event.slug,
        title=event.title,
        language=event.language,
        status=event.status,
        stage_id=event.stage_id,
        fields=event.fields,
        translations=merged_translations({}, event.translations),
        published_at=event.at if event.status == "published" else None,
        created_at=event.at,
        updated_at=event.at,
        version=1,
    )


def _updated(entry: Entry, event: EntryUpdated) -> Entry:
    status = chosen(event.status, entry.status)
    return replace(
        entry,
        title=chosen(event.title, entry.title),
        slug=chosen(event.slug, entry.slug),
        status=status,
        stage_id=chosen(event.stage_id, entry.stage_id),
        fields={**entry.fields, **event.fields},
        translations=merged_translations(entry.translations, event.translations),
        published_at=published_at(entry, status, event.at),
        updated_at=event.at,
        version=entry.version + 1,
    )


def published_at(entry: Entry, status: Status, at: datetime) -> datetime | None:
    """Set by the first publishing and by each one of a draft; archiving keeps it (behaviour.md)."""
    if status != "published" or entry.status == "published":
        return entry.published_at
    if entry.status == "draft" or entry.published_at is None:
        return at
    return entry.published_at


def merged_translations(
    before: Mapping[str, Translation], changes: Mapping[str, Translation]
) -> dict[str, Translation]:
    """The translations after the changes, without those that have no text left."""
    merged = dict(before)
    for locale, change in changes.items():
        known = merged.get(locale, Translation())
        title = known.title if change.title is None else (change.title or None)
        fields = {
            slug: value
            for slug, value in {**known.fields, **change.fields}.items()
            if bytes(value) not in (b"null", b'""')
        }
        merged[locale] = Translation(title=title, fields=fields)
    return {
        locale: translation
        for locale, translation in merged.items()
        if translation.title or translation.fields
    }


MAX_BYTES = 2 * 1024 * 1024
MAX_BYTES_IN_ALL_LOCALES = 64 * 1024 * 1024
"""Limits of an entry's texts and values as JSON, and of the same in all locales together. They are
far above any page, and far below an entry that would hold up the projector or a list."""


MAX_RENDERED = 1024 * 1024
"""Bytes of an entry with all translations up to which each of these is stored ready to serve.
Beyond it, a change of one word would make the projector rewrite all of them."""
ROW_BYTES = 1024
"""What the row of a translation costs besides its texts, in bytes that are written."""


def rendered_bytes(entry: Entry) -> int:
    """About the bytes of all translations ready to serve. One has all of the entry's values, unless
    it has a title alone."""
    if not entry.translations:
        return 0
    merged = sum(bool(translation.fields) for translation in entry.translations.values())
    return _size(entry.title, entry.slug, entry.fields) * merged + _translated_size(entry)


def projected_bytes(entry: Entry) -> int:
    """About how many bytes of rows the projector writes after a change of the entry: its own with
    the translations, and a row for each of them, ready to serve or with its texts alone."""
    translated = _translated_size(entry)
    rendered = rendered_bytes(entry)
    rows = translated if rendered > MAX_RENDERED else rendered
    own = _size(entry.title, entry.slug, entry.fields) + translated
    return own + rows + ROW_BYTES * len(entry.translations)


def check_size(entry: Entry) -> None:
    """Raises InvalidEntry, with the bound."""
    size = _size(entry.title, entry.slug, entry.fields)
    if size > MAX_BYTES:
        raise InvalidEntry(
            f"The entry takes {size:,} bytes; an entry may take up to {MAX_BYTES:,}: "
            "move large content to a file or to entries of its own"
        )
    if size * len(entry.translations) + _translated_size(entry) > MAX_BYTES_IN_ALL_LOCALES:
        raise InvalidEntry(
            f"The entry is too large for {len(entry.translations)} translations: all of them "
            f"together may take up to {MAX_BYTES_IN_ALL_LOCALES:,} bytes"
        )


def _translated_size(entry: Entry) -> int:
    return sum(_size(t.title or "", "", t.fields) for t in entry.translations.values())


def _size(title: str, slug: str, fields: Mapping[str, Raw]) -> int:
    values = sum(memoryview(value).nbytes for value in fields.values())
    return len(title.encode()) + len(slug.encode()) + values


def chosen(given: T | UnsetType, otherwise: T) -> T:
    return otherwise if isinstance(given, UnsetType) else given


def changes(entry: Entry, event: EntryUpdated) -> bool:
    """Whether the event would change anything but the time."""
    after = _updated(entry, event)
    return contents(after) != contents(entry)


def restored_fields(then: Mapping[str, Raw], now_held: Mapping[str, Raw]) -> dict[str, Raw]:
    """The changes that make the values what they were then; null removes one."""
    slugs = dict.fromkeys((*now_held, *then))
    held = {slug: (then.get(slug, NULL), now_held.get(slug, NULL)) for slug in slugs}
    return {slug: was for slug, (was, is_now) in held.items() if bytes(was) != bytes(is_now)}


def translates(entry: Entry, locale: str, change: Translation) -> bool:
    """Whether the change of one translation would change anything."""
    after = merged_translations(entry.translations, {locale: change}).get(locale)
    before = entry.translations.get(locale)
    return _texts(after) != _texts(before)


def contents(entry: Entry) -> tuple[object, ...]:
    """Everything in an entry, comparable: values as their JSON text."""
    return (
        entry.title,
        entry.slug,
        entry.status,
        entry.stage_id,
        comparable(entry.fields),
        {locale: _texts(translation) for locale, translation in entry.translations.items()},
    )


def _texts(translation: Translation | None) -> tuple[str | None, dict[str, bytes]] | None:
    if translation is None:
        return None
    return (translation.title, comparable(translation.fields))


def comparable(values: Mapping[str, Raw]) -> dict[str, bytes]:
    """Values by slug as bytes, without nulls."""
    return {slug: bytes(value) for slug, value in values.items() if bytes(value) != b"null"}
