"""The rendered rows of entries and of their translations, without unchanged values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from projector.rows import EntryState, Types, columns
from projector.write_transaction import WriteTransaction
from write_side.domain.entry import MAX_RENDERED, Entry, rendered_bytes
from write_side.domain.events import Translation
from write_side.domain.identity import slug_hash
from write_side.waiting import portions

PORTION = 16 * 1024 * 1024
"""Characters of rendered fields in one statement; PostgreSQL does not accept a message of 1 GB."""
_json = msgspec.json.Encoder()


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
"""The columns of ``entry``, in the order of ``entry_rows``, ``add_entries`` and ``put_entries``."""

UNCHANGED = "null"
"""Instead of translations: ``put_entries`` keeps those of the row, which may have megabytes."""
Known = Mapping[str, EntryState | None]
"""Existing rows by the entry's id; unchanged values are not written again."""


def entry_rows(
    states: Iterable[EntryState],
    types: Types,
    known: Known = MappingProxyType({}),
) -> Iterator[tuple[Any, ...]]:
    """The rows of ``entry``, rendered one after another."""
    for state in states:
        entry = state.entry
        type_ = types[entry.content_type_id]
        renderer = type_.renderer
        stage = renderer.stage(entry.status, entry.stage_id)
        stored, fields = _json.encode(entry.fields), renderer.render(entry.fields)
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
            None if stored == fields else stored.decode(),
            _translations(entry, known.get(entry.id)),
            fields.decode(),
        )


def _translations(entry: Entry, known: EntryState | None) -> str | None:
    if not entry.translations:
        return None
    if known is not None and _are_the_same(entry.translations, known.entry.translations):
        return UNCHANGED
    return _json.encode(entry.translations).decode()


def _are_the_same(some: Mapping[str, Translation], others: Mapping[str, Translation]) -> bool:
    """Compares by identity: an event keeps the translation objects that it does not name."""
    return len(some) == len(others) and all(
        others.get(locale) is translation for locale, translation in some.items()
    )


def locale_rows(
    entries: Iterable[Entry],
    types: Types,
    known: Known = MappingProxyType({}),
) -> Iterator[tuple[Any, ...]]:
    """The rows of ``entry_locale``, in the order of ``put_locales``: one for each locale into which
    an entry is translated. If it has only a title, the fields are those of the entry; if all of
    them would be large, they are rendered from their texts on reading."""
    for entry in entries:
        renderer = types[entry.content_type_id].renderer
        is_large = rendered_bytes(entry) > MAX_RENDERED
        same = _same_rows(entry, known.get(entry.id)) if is_large else frozenset()
        for locale, translation in entry.translations.items():
            if locale in same:
                continue
            texts = fields = None
            if translation.fields and is_large:
                texts = _json.encode(translation.fields).decode()
            elif translation.fields:
                merged = renderer.translated(entry.fields, translation.fields)
                fields = renderer.render(merged).decode()
            title = translation.title or entry.title
            yield (entry.workspace, entry.environment, locale, entry.id, title, texts, fields)


def _same_rows(entry: Entry, known: EntryState | None) -> frozenset[str]:
    """The locales of a large entry whose rows have not changed."""
    if known is None or rendered_bytes(known.entry) <= MAX_RENDERED:
        return frozenset()
    has_title = entry.title == known.entry.title
    return frozenset(
        locale
        for locale, translation in entry.translations.items()
        if known.entry.translations.get(locale) is translation and (translation.title or has_title)
    )


async def put_entries(
    transaction: WriteTransaction, rows: Iterable[tuple[Any, ...]], *, are_new: bool = False
) -> None:
    """Writes rows of ``entry_rows``."""
    for portion in portions(rows, _size, PORTION):
        await transaction.add("add_entries" if are_new else "put_entries", columns(portion))


async def put_locales(transaction: WriteTransaction, rows: Iterable[tuple[Any, ...]]) -> None:
    """Writes rows of ``locale_rows``."""
    for portion in portions(rows, _size, PORTION):
        parameters = columns(portion)
        await transaction.add("drop_shared_locales", parameters[:4])
        await transaction.add("put_locales", parameters)


def _size(row: tuple[Any, ...]) -> int:
    """The size of the last two columns, which have the texts and the rendered fields."""
    return sum(len(text) for text in row[-2:] if text)
