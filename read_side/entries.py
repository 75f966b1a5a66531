"""Lists of entries and single ones, as the read model has them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from read_side.pool import Pool, fetch
from read_side.refusals import EntryNotFound, TypeNotFound
from read_side.statements import statement
from write_side.domain.events import Translation
from write_side.domain.rendering import Renderer, stored_values

_LIST = statement("list_of_type")
_DEEP_LIST = statement("deep_list_of_type")
_LIST_IN_LOCALE = statement("list_of_type_in_locale")
_ONE = statement("one")
_ONE_IN_LOCALE = statement("one_in_locale")
_ACROSS = statement("list_across_types")
_ACROSS_OF_TYPE = statement("list_across_types_of_type")
_BY_ID = statement("entries_by_id")

DEEP = 200
"""From this offset on, skipping over narrow keys is worth fetching the page's rows apart."""


class EntryRow(Struct, frozen=True):
    """An entry ready to serve: texts in the locale asked for, ``fields`` and ``stage`` as JSON.

    ``type_*`` are None in the lists of one type, where they are known; ``version`` is there where
    entries were asked for by their ids.
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


class Page(Struct, frozen=True):
    """``total`` counts all that match, whatever the page."""

    rows: list[EntryRow]
    total: int


async def list_of_type(
    pool: Pool,
    workspace: str,
    environment: str,
    *,
    type_slug: str,
    status: str,
    language: str,
    locale: str,
    limit: int,
    offset: int,
) -> Page:
    """Entries of one type, status and language, newest created first (§4.1)."""
    where = (workspace, environment, type_slug, status, language, limit, offset)
    # A text is never translated into the language it was written in.
    if locale == language:
        records = await fetch(pool, _LIST if offset < DEEP else _DEEP_LIST, *where)
    else:
        records = await fetch(pool, _LIST_IN_LOCALE, *where, locale)
    if not records:
        raise TypeNotFound
    return _page(records, locale)


async def one(
    pool: Pool,
    workspace: str,
    environment: str,
    *,
    type_slug: str,
    slug: str,
    language: str,
    locale: str,
) -> EntryRow:
    """The entry of a slug, whatever its status (§4.2)."""
    where = (workspace, environment, type_slug, language, slug)
    if locale == language:
        records = await fetch(pool, _ONE, *where)
    else:
        records = await fetch(pool, _ONE_IN_LOCALE, *where, locale)
    if not records:
        raise TypeNotFound
    if records[0]["id"] is None:
        raise EntryNotFound
    return _row(records[0], locale, typed=True)


async def list_across_types(
    pool: Pool,
    workspace: str,
    environment: str,
    *,
    type_slug: str | None,
    locale: str,
    limit: int,
    offset: int,
) -> Page:
    """Entries of every type, or of one, of every status and language, newest first (§4.3)."""
    where = (workspace, environment, limit, offset, locale)
    if type_slug is None:
        records = await fetch(pool, _ACROSS, *where)
    else:
        records = await fetch(pool, _ACROSS_OF_TYPE, *where, type_slug)
    if not records:
        raise TypeNotFound
    return _page(records, locale, typed=True)


async def by_ids(
    pool: Pool, workspace: str, environment: str, *, ids: Sequence[str], locale: str
) -> list[EntryRow]:
    """Those of the ids, UUIDs in lower case, that are entries; in no order."""
    records = await fetch(pool, _BY_ID, workspace, environment, ids, locale)
    return [replace(_row(r, locale, typed=True), version=r["version"]) for r in records]


def _page(records: Sequence[Any], locale: str, *, typed: bool = False) -> Page:
    # A type without entries on the page is one row of nulls beside the total.
    rows = [_row(record, locale, typed=typed) for record in records if record["id"] is not None]
    return Page(rows, records[0]["total"])


def _row(record: Any, locale: str, *, typed: bool = False) -> EntryRow:
    if record["fields"] is None:
        title, stage, fields = _rendered_anew(record, locale)
    else:
        title, fields = record["title"], Raw(record["fields"])
        stage = None if record["stage"] is None else Raw(record["stage"])
    return EntryRow(
        id=record["id"],
        title=title,
        slug=record["slug"],
        status=record["status"],
        stage=stage,
        language=record["language"],
        published_at=record["published_at"],
        created_at=record["created_at"],
        updated_at=record["updated_at"],
        fields=fields,
        type_id=record["type_id"] if typed else None,
        type_name=record["type_name"] if typed else None,
        type_slug=record["type_slug"] if typed else None,
    )


_TRANSLATIONS = msgspec.json.Decoder(dict[str, Translation])


def _rendered_anew(record: Any, locale: str) -> tuple[str, Raw | None, Raw]:
    """Title, stage and fields of a row that was rendered under an older version of its type."""
    renderer = Renderer.of_json(record["type_fields"], record["type_stages"])
    stored = stored_values(record["stored"])
    translations = record.get("translations")
    texts = _TRANSLATIONS.decode(translations).get(locale) if translations else None
    if texts is not None:
        stored = renderer.translated(stored, texts.fields)
    stage = renderer.stage(record["status"], record["stage_id"])
    return record["title"], stage, Raw(renderer.render(stored))
