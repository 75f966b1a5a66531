"""Entries as they are returned, and single entries."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Raw, Struct

from read_side.pool import Pool, fetch
from read_side.refusals import EntryNotFound, TypeNotFound
from write_side.domain.definition import Field, Stage
from write_side.domain.events import Translation
from write_side.domain.identity import Scope, slug_hash
from write_side.domain.rendering import Renderer
from write_side.waiting import in_slices, portions

INLINE = 16 * 1024
"""Bytes of an entry up to which a list reads it at once, so a page has at most 1.6 MB."""
SHARED = 64 * 1024
"""Bytes of a single entry up to which its read shares a statement with others."""
PIECE = 1024 * 1024
"""Bytes of larger entries that are fetched at once, roughly."""
WHOLE = 2**31 - 1
"""Used instead of INLINE for entries of any size."""


class NotInline(Exception):
    """The record's entry is too large to be read inline."""


class EntryRow(Struct, frozen=True):
    """An entry ready to serve: texts in the requested locale, ``fields`` and ``stage`` as JSON.

    ``type_*`` and ``version`` are None in the lists of one type. ``stamp``: of the checkpoint at
    which it was read.
    """

    id: str
    title: str
    slug: str
    status: str
    stage: Raw | None
    language: str
    published_at: datetime | None
    created_at: datetime
    updated_at: datetime
    fields: Raw
    type_id: str | None = None
    type_name: str | None = None
    type_slug: str | None = None
    version: int | None = None
    stamp: int | None = None


_OF_TYPE = ("type_id", "type_name", "type_slug", "version", "stamp")


class EntriesRead(Struct, frozen=True):
    """Entries that one statement has read. ``stamp``: of the checkpoint at which it did; None if
    all it read are in other pieces."""

    rows: list[EntryRow]
    stamp: int | None


class SlugOwner(Struct, frozen=True):
    type_id: str
    entry_id: str


async def entry_of_slug(
    pool: Pool,
    scope: Scope,
    *,
    type_slug: str,
    slug: str,
    language: str,
    locale: str,
) -> EntryRow:
    """The entry of a slug, in any status (§4.2). Raises TypeNotFound, EntryNotFound."""
    where: tuple[Any, ...] = (
        scope.workspace,
        scope.environment,
        type_slug,
        language,
        slug_hash(slug),
    )
    name = "entry_of_slug"
    # A text is never translated into its original language.
    if locale != language:
        name, where = "entry_of_slug_in_locale", (*where, locale)
    try:
        records = await pool.shared.fetch(name, *where, SHARED)
        return entry_row(_required_record(records), locale)
    except NotInline:
        records = await fetch(pool, name, *where, WHOLE)
        return entry_row(_required_record(records), locale)


async def id_of_slug(pool: Pool, scope: Scope, *, type_slug: str, slug: str, language: str) -> str:
    """Raises TypeNotFound, EntryNotFound."""
    where = (scope.workspace, scope.environment, type_slug, language, slug_hash(slug))
    found: str = _required_record(await fetch(pool, "id_of_slug", *where))["id"]
    return found


async def slug_owner(
    pool: Pool,
    scope: Scope,
    *,
    type_slug: str,
    slug: str,
    language: str,
    at: datetime,
) -> SlugOwner:
    """The content type and the entry that had these slugs at a time, as far as the log is
    projected. The entry's content at that time is in the log.

    Raises TypeNotFound, EntryNotFound.
    """
    where = (scope.workspace, scope.environment, type_slug, language, slug_hash(slug), at)
    record = _required_record(await fetch(pool, "slug_owner", *where))
    return SlugOwner(record["type_id"], record["id"])


async def entries_by_id(
    pool: Pool,
    scope: Scope,
    *,
    ids: Sequence[str],
    locale: str,
    before: Callable[[int, bool], Awaitable[None]],
) -> list[EntryRow]:
    """All entries of ``entries_in_pieces``."""
    pieces = entries_in_pieces(pool, scope, ids=ids, locale=locale, inline=INLINE, before=before)
    return [row async for piece in pieces for row in piece.rows]


async def entries_in_pieces(
    pool: Pool,
    scope: Scope,
    *,
    ids: Sequence[str],
    locale: str,
    inline: int,
    before: Callable[[int, bool], Awaitable[None]],
) -> AsyncIterator[EntriesRead]:
    """The entries with these ids (UUIDs in lower case), in no particular order: in one piece those
    of up to ``inline`` bytes, then the larger ones in pieces of about PIECE bytes.

    ``before`` is awaited with the bytes of all of them, and whether one is larger than ``inline``,
    before any larger one is read.
    """
    where = (scope.workspace, scope.environment)
    records = await fetch(pool, "entries_by_id", *where, ids, locale, inline)
    sizes = {record["id"]: record["size"] for record in records if record["id"] is not None}
    large = {entry_id: size for entry_id, size in sizes.items() if size > inline}
    await before(sum(sizes.values()), bool(large))
    yield await _entries_read([one for one in records if one["id"] not in large], locale)
    for piece in portions(large, large.__getitem__, PIECE):
        records = await fetch(pool, "entries_by_id", *where, piece, locale, WHOLE)
        yield await _entries_read(records, locale)


async def _entries_read(records: Sequence[Any], locale: str) -> EntriesRead:
    found = in_slices(one for one in records if one["id"] is not None)
    rows = [entry_row(record, locale) async for record in found]
    return EntriesRead(rows, records[0]["stamp"] if records else None)


def _required_record(records: Sequence[Any]) -> Any:
    """If the type exists but not the entry, there is one row of nulls."""
    if not records:
        raise TypeNotFound
    if records[0]["id"] is None:
        raise EntryNotFound
    return records[0]


def entry_row(record: Any, locale: str) -> EntryRow:
    """From a record with the columns of ``served_columns.sql``, and mostly ``type_columns.sql``.
    Raises NotInline."""
    if record["stale"] is None:
        stage = None if record["stage"] is None else Raw(record["stage"])
        if record["fields"] is None:
            raise NotInline
        fields = Raw(record["fields"])
    else:
        stage, fields = _rendered(record, locale)
    return EntryRow(
        record["id"],
        record["title"],
        record["slug"],
        record["status"],
        stage,
        record["language"],
        record["published_at"],
        record["created_at"],
        record["updated_at"],
        fields,
        *map(record.get, _OF_TYPE),
    )


class _Stale(Struct):
    """The parts from which an entry is rendered that is not stored ready to serve. ``texts``: in
    the locale, if they are stored separately from the other translations."""

    values: dict[str, Raw]
    texts: dict[str, Raw] | None
    translations: dict[str, Translation] | None
    stage_id: str | None
    type_fields: tuple[Field, ...]
    type_stages: tuple[Stage, ...]


_STALE = msgspec.json.Decoder(_Stale)


def _rendered(record: Any, locale: str) -> tuple[Raw | None, Raw]:
    """Stage and fields."""
    stale = _STALE.decode(record["stale"])
    renderer = Renderer(stale.type_fields, stale.type_stages)
    translation = (stale.translations or {}).get(locale)
    texts = translation.fields if stale.texts is None and translation else stale.texts
    values = stale.values
    if texts:
        values = renderer.translated(values, texts)
    return renderer.stage(record["status"], stale.stage_id), Raw(renderer.render(values))
