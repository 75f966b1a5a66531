"""The entry, folded from its events.

The projector uses the same functions, so the read model and the decisions cannot differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sized
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
from write_side.domain.values import NO_TEXT, NULL

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
    if isinstance(event, EntryCreated):
        return _created(event)
    assert entry is not None, f"{type(event).__name__} of an entry that was never created"
    if isinstance(event, EntryDeleted):
        return replace(entry, deleted=True, updated_at=event.at, version=entry.version + 1)
    return _updated(entry, event)


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
    status = value_or(event.status, entry.status)
    return replace(
        entry,
        title=value_or(event.title, entry.title),
        slug=value_or(event.slug, entry.slug),
        status=status,
        stage_id=value_or(event.stage_id, entry.stage_id),
        fields={**entry.fields, **event.fields},
        translations=merged_translations(entry.translations, event.translations),
        published_at=published_at(entry, status, event.at),
        updated_at=event.at,
        version=entry.version + 1,
    )


def published_at(entry: Entry, status: Status, at: datetime) -> datetime | None:
    """Set by the first publication and each time a draft is published; archiving keeps it
    (behaviour.md)."""
    was_unpublished = entry.status == "draft" or entry.published_at is None
    return at if status == "published" and was_unpublished else entry.published_at


def merged_translations(
    before: Mapping[str, Translation], changes: Mapping[str, Translation]
) -> dict[str, Translation]:
    """The translations after the changes, without those that have no texts left."""
    merged = dict(before)
    for locale, change in changes.items():
        known = merged.get(locale, Translation())
        title = known.title if change.title is None else (change.title or None)
        fields = {
            slug: value
            for slug, value in {**known.fields, **change.fields}.items()
            if value not in NO_TEXT
        }
        merged[locale] = Translation(title=title, fields=fields)
    return {
        locale: translation
        for locale, translation in merged.items()
        if translation.title or translation.fields
    }


MAX_BYTES = 2 * 1024 * 1024
MAX_BYTES_IN_ALL_LOCALES = 8 * 1024 * 1024
"""Limits of the size of an entry's texts and values as JSON, and of the same with all translations.
They are far above any page, and below an entry that would delay the projector, a list or an update:
each reads all of it (ADR 36)."""
MAX_TRANSLATED_VALUES = 10_000
"""The limit for all translations of an entry together. Each value is checked and compared
separately, in 6 µs."""


MAX_RENDERED = 1024 * 1024
"""Bytes of an entry with all translations up to which each translation is stored ready to serve.
Above that, a change of one word would make the projector rewrite all of them. To change the
limit, rebuild: the projector does not write rows again that it considers unchanged."""
ROW_BYTES = 1024
"""Bytes written for a translation's row in addition to its texts."""


def rendered_bytes(entry: Entry) -> int:
    """The approximate bytes of all translations ready to serve."""
    return _sizes(entry)[2] if entry.translations else 0


def projected_bytes(entry: Entry) -> int:
    """The approximate bytes of rows that the projector writes after a change of the entry: its own
    row with the translations, and a row for each translation, ready to serve or with only its
    texts."""
    own, translated, rendered = _sizes(entry)
    rows = translated if rendered > MAX_RENDERED else rendered
    return own + translated + rows + ROW_BYTES * len(entry.translations)


def stored_bytes(entry: Entry) -> int:
    """The bytes of the entry's texts and values as JSON, with all translations."""
    return sum(_sizes(entry)[:2])


def check_size(entry: Entry) -> None:
    """Raises InvalidEntry, with the bound."""
    own, translated, _ = _sizes(entry)
    if own > MAX_BYTES:
        raise InvalidEntry(
            f"The entry takes {own:,} bytes; the limit is {MAX_BYTES:,}: "
            "move large content to a file or to separate entries"
        )
    if own + translated > MAX_BYTES_IN_ALL_LOCALES:
        raise InvalidEntry(
            f"The entry takes {own + translated:,} bytes with its translations; the limit is "
            f"{MAX_BYTES_IN_ALL_LOCALES:,}: divide the entry"
        )
    check_translated_values(entry.translations)


def check_translated_values(translations: Mapping[str, Translation]) -> None:
    """Raises InvalidEntry with the limit."""
    values = sum(len(translation.fields) for translation in translations.values())
    if values > MAX_TRANSLATED_VALUES:
        raise InvalidEntry(
            f"The translations have {values:,} values; the limit is {MAX_TRANSLATED_VALUES:,} for "
            "all translations of an entry: divide the entry"
        )


def _sizes(entry: Entry) -> tuple[int, int, int]:
    """The bytes of the entry's own texts and values as JSON, of those of its translations, and of
    the translations ready to serve: each has all of the entry's values, unless it has only a
    title."""
    own = len(entry.slug.encode()) + _size(entry.title, entry.fields)
    translations = entry.translations.values()
    translated = sum(_size(part.title or "", part.fields) for part in translations)
    return own, translated, translated + own * sum(bool(part.fields) for part in translations)


def _size(title: str, fields: Mapping[str, Raw]) -> int:
    views: Iterable[Sized] = map(memoryview, fields.values())
    return len(title.encode()) + sum(map(len, views))


def value_or(value: T | UnsetType, default: T) -> T:
    return default if isinstance(value, UnsetType) else value


def restored_fields(past: Mapping[str, Raw], current: Mapping[str, Raw]) -> dict[str, Raw]:
    """The changes that restore the earlier values; null removes one."""
    slugs = dict.fromkeys((*current, *past))
    pairs = {slug: (past.get(slug, NULL), current.get(slug, NULL)) for slug in slugs}
    return {slug: was for slug, (was, is_now) in pairs.items() if was != is_now}


def translates(entry: Entry, locale: str, change: Translation) -> bool:
    """Whether the change of one translation would change anything."""
    before = entry.translations.get(locale)
    after = merged_translations({} if before is None else {locale: before}, {locale: change})
    return after.get(locale) != before


def contents(entry: Entry) -> tuple[object, ...]:
    """All values of an entry in comparable form. Null counts as no value."""
    values = {slug: value for slug, value in entry.fields.items() if value != NULL}
    attributes = (entry.title, entry.slug, entry.status, entry.stage_id)
    return (*attributes, values, entry.translations)
