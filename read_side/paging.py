"""Lists of entries, newest first: which entries are on a page, and how many match.

Each statement combines a page (``sql/pages``: the filters) with its rows (``sql/rows``): everything
that is returned, a summary, or only the id. A page has at most 100 entries; the statements name
this number too, so that the planner knows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from msgspec import Struct

from read_side.entries import EntryRow
from read_side.listing import Listing, Page, page_of
from read_side.pool import Pool, fetch
from write_side.domain.identity import Scope

DEEP = 200
"""From this offset on, skipping blocks is worth its time."""


class Filters(Struct, frozen=True):
    """None means any; an empty type or language matches nothing. ``locale``: of the texts that are
    shown and searched, "" for the original ones; ``search``: words, empty for any."""

    type_slug: str | None = None
    status: str | None = None
    language: str | None = None
    locale: str = ""
    search: str = ""


class EntrySummary(Struct, frozen=True):
    """``translated``: the title in the requested locale, if there is one."""

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

    def title_language(self, locale: str) -> str:
        return self.language if self.translated in (None, self.title) else locale


async def list_of_type(
    pool: Pool,
    scope: Scope,
    *,
    type_slug: str,
    status: str,
    language: str,
    locale: str,
    limit: int,
    offset: int,
    as_json: bool = False,
) -> Page[EntryRow]:
    """Entries of one type, status and language (§4.1). ``as_json``: see ``Listing.page``. Raises
    TypeNotFound, LargePage."""
    where: list[Any] = [
        scope.workspace,
        scope.environment,
        limit,
        offset,
        type_slug,
        status,
        language,
    ]
    # A text is never translated into its original language.
    name = "list_of_type" if offset < DEEP else "list_of_type_deep"
    if locale != language:
        name = "list_of_type_in_locale"
        where.append(locale)
    listing = Listing(pool, name, where, locale, type_slug)
    return await listing.page(as_json=as_json)


async def list_across_types(
    pool: Pool,
    scope: Scope,
    *,
    type_slug: str | None,
    status: str | None = None,
    locale: str,
    limit: int,
    offset: int,
    as_json: bool = False,
) -> Page[EntryRow]:
    """Entries of one type or all, of one status or all, and of every language (§4.3). ``as_json``:
    see ``Listing.page``.

    Raises TypeNotFound, LargePage.
    """
    filters = Filters(type_slug, status)
    name, parameters = _filtered("list", filters)
    where = (scope.workspace, scope.environment, limit, offset, *parameters, locale)
    listing = Listing(pool, name, where, locale, type_slug)
    return await listing.page(as_json=as_json)


async def list_ids(
    pool: Pool, scope: Scope, filters: Filters, *, limit: int, offset: int
) -> Page[str]:
    """Only the ids, for entries that are read together with others; ``locale`` and ``search`` are
    ignored. Raises TypeNotFound."""
    name, parameters = _filtered("ids", filters)
    where: list[Any] = [scope.workspace, scope.environment, limit, offset, *parameters]
    records = await pool.shared.fetch(name, *where)
    return page_of(records, lambda record: str(record["id"]), filters.type_slug)


async def list_summaries(
    pool: Pool, scope: Scope, filters: Filters, *, limit: int, offset: int
) -> Page[EntrySummary]:
    """Empty for a content type that does not exist; ``search`` is ignored."""
    name, parameters = _filtered("summaries", filters)
    where = (scope.workspace, scope.environment, limit, offset, *parameters, filters.locale)
    return page_of(await fetch(pool, name, *where), entry_summary)


def entry_summary(record: Any) -> EntrySummary:
    """From a record with the columns of ``summary_columns.sql``."""
    return EntrySummary(*(record[name] for name in EntrySummary.__struct_fields__))


def _filtered(columns: str, filters: Filters) -> tuple[str, Sequence[str | None]]:
    """The statement for the filters, and the parameters of the filters.

    A single statement would have a single plan, and no index serves every filter.
    """
    if filters.status is not None or filters.language is not None:
        return f"{columns}_selected", (filters.type_slug, filters.status, filters.language)
    if filters.type_slug is not None:
        return f"{columns}_newest_of_type", (filters.type_slug,)
    return f"{columns}_newest", ()
