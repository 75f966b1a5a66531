"""Entries as people look through them: filters that may be left open, a search in the titles, one
entry with the names of what it points at."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import msgspec
from msgspec import Raw, Struct

from read_side.pool import Pool, fetch
from read_side.refusals import EntryNotFound
from read_side.statements import statement
from write_side.domain.definition import Field
from write_side.domain.events import Translation
from write_side.domain.rendering import Renderer, stored_values

_BROWSE = statement("browse")
_BROWSE_OF_TYPE = statement("browse_of_type")
_SEARCH = statement("search")
_SEARCH_OF_TYPE = statement("search_of_type")
_ONE = statement("entry_by_id")
_TITLES = statement("titles")
_MEDIA = statement("media_files")
_IMPORTS = statement("import_runs")
_LANGUAGES = statement("languages")
_LOCALES = statement("locales")
_WORKSPACE = statement("workspace_name")

SEARCHED = 100_000
"""A search looks through so many of the newest entries that the other filters leave."""


class Filters(Struct, frozen=True):
    """Empty is any. ``type_id``: of a content type of the environment; ``locale``: whose titles
    are shown, and searched beside the original ones."""

    type_id: str = ""
    status: str = ""
    language: str = ""
    locale: str = ""
    search: str = ""


class Browsed(Struct, frozen=True):
    """``translated``: the title in the locale asked for, where there is one."""

    id: str
    type_id: str
    title: str
    translated: str | None
    slug: str
    status: str
    stage_id: str | None
    language: str
    created_at: datetime
    updated_at: datetime
    published_at: datetime | None


class Found(Struct, frozen=True):
    """``total`` of all that match; a search has looked at ``looked`` entries for them."""

    rows: list[Browsed]
    total: int
    looked: int


class Looked(Struct, frozen=True):
    """One entry, whatever its status and language. ``fields`` are all of its type, in its order,
    in the texts of the locale; ``locales`` those that it is translated into."""

    entry: Browsed
    type_slug: str
    type_name: str
    version: int
    definition: tuple[Field, ...]
    fields: dict[str, Raw]
    locales: list[str]


class Target(Struct, frozen=True):
    """What a reference points at."""

    id: str
    title: str
    status: str


class MediaRow(Struct, frozen=True):
    id: str
    name: str
    url: str
    content_type: str

    @property
    def is_linkable(self) -> bool:
        """The library takes any text for an address, and ``javascript:`` is one too."""
        return urlsplit(self.url).scheme in ("http", "https")


class ImportRow(Struct, frozen=True):
    id: str
    file_name: str
    type_name: str
    created: int
    updated: int
    unchanged: int
    skipped: int
    failed: int
    imported_by: str
    imported_at: datetime
    reverted_at: datetime | None


async def browse(
    pool: Pool, workspace: str, environment: str, filters: Filters, *, limit: int, offset: int
) -> Found:
    """Newest created first."""
    where: list[Any] = [workspace, environment, filters.status, filters.language, filters.locale]
    where += [limit, offset]
    if filters.search:
        where += [filters.search, SEARCHED]
    sql = _SEARCH if filters.search else _BROWSE
    if filters.type_id:
        where.append(UUID(filters.type_id))
        sql = _SEARCH_OF_TYPE if filters.search else _BROWSE_OF_TYPE
    records = await fetch(pool, sql, *where)
    rows = [_browsed(record) for record in records if record["id"] is not None]
    return Found(rows, records[0]["total"], records[0]["looked"])


_FIELDS = msgspec.json.Decoder(tuple[Field, ...])
_TRANSLATIONS = msgspec.json.Decoder(dict[str, Translation])


async def look_at(
    pool: Pool, workspace: str, environment: str, *, entry_id: str, locale: str
) -> Looked:
    """Raises EntryNotFound, for what is no id at all too."""
    try:
        wanted = UUID(entry_id)
    except ValueError:
        raise EntryNotFound from None
    records = await fetch(pool, _ONE, workspace, environment, wanted, locale)
    if not records:
        raise EntryNotFound
    record = records[0]
    translations = _TRANSLATIONS.decode(record["translations"] or b"{}")
    renderer = Renderer.of_json(record["type_fields"], "[]")
    stored = stored_values(record["stored"])
    if locale in translations:
        stored = renderer.translated(stored, translations[locale].fields)
    return Looked(
        entry=_browsed(record),
        type_slug=record["type_slug"],
        type_name=record["type_name"],
        version=record["version"],
        definition=_FIELDS.decode(record["type_fields"]),
        fields=stored_values(renderer.render(stored)),
        locales=sorted(translations),
    )


async def titles(
    pool: Pool, workspace: str, environment: str, ids: Collection[str], locale: str
) -> dict[str, Target]:
    """By id; an entry that is gone is not among them."""
    wanted = [UUID(one) for one in ids]
    records = await fetch(pool, _TITLES, workspace, environment, wanted, locale) if wanted else []
    return {record["id"]: Target(**record) for record in records}


async def media_files(pool: Pool, workspace: str, ids: Collection[str]) -> dict[str, MediaRow]:
    records = await fetch(pool, _MEDIA, workspace, list(ids)) if ids else []
    return {record["id"]: MediaRow(**record) for record in records}


async def import_runs(
    pool: Pool, workspace: str, environment: str, *, limit: int, offset: int
) -> list[ImportRow]:
    """Past imports, the latest first."""
    records = await fetch(pool, _IMPORTS, workspace, environment, limit, offset)
    return [ImportRow(**record) for record in records]


async def languages(pool: Pool, workspace: str, environment: str) -> list[str]:
    """In which there are entries."""
    records = await fetch(pool, _LANGUAGES, workspace, environment)
    return [record["language"] for record in records]


async def locales(pool: Pool, workspace: str, environment: str) -> list[str]:
    """Into which entries are translated."""
    records = await fetch(pool, _LOCALES, workspace, environment)
    return [record["locale"] for record in records]


async def workspace_name(pool: Pool, slug: str) -> str | None:
    records = await fetch(pool, _WORKSPACE, slug)
    return records[0]["name"] if records else None


def _browsed(record: Any) -> Browsed:
    return Browsed(**{name: record[name] for name in Browsed.__struct_fields__})
