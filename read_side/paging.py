"""Lists of entries, newest first: which entries are on a page, and how many match.

Each statement combines a page (``sql/pages``: the filters) with its rows (``sql/rows``): everything
that is returned, a summary, or only the id. A page has at most 100 entries; the statements contain
this number too, so that the planner knows it. If its entries are large, they are read one by one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from msgspec import Struct

from read_side.entries import INLINE, PIECE, WHOLE, EntryRow, NotInline, entry_row
from read_side.pool import Pool, fetch, report_stamp, snapshot
from read_side.refusals import TypeNotFound
from write_side.domain.identity import Scope
from write_side.postgres.statements import statement

if TYPE_CHECKING:
    from read_side.queries.pages import FoundPage

DEEP = 200
"""From this offset on, skipping blocks is worth its time."""
Matches: TypeAlias = "int | FoundPage"
"""The number of matching entries on all pages, or the FoundPage of a query, which counts them only
if that is wanted."""
T = TypeVar("T")
M_co = TypeVar("M_co", bound=Matches, covariant=True)


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


class Page(Struct, Generic[T, M_co], frozen=True):
    """``stamp``: of the checkpoint at which the page was read, if the statement returns it.
    ``json``: the entries as the API sends them, separated by commas; then there are no ``rows``.
    ``may_grow``: whether a later read at the same checkpoint may find more."""

    rows: list[T]
    matches: M_co
    stamp: int | None = None
    json: bytes | None = None
    may_grow: bool = False


ReadAgain = Callable[[int], AbstractAsyncContextManager[tuple[Matches, AsyncIterator[EntryRow]]]]
"""Takes the number of entries to read at once. Yields the matches of the list, and the entries of
the page."""


class LargePage(Exception):
    """The page has entries that are larger than INLINE. ``size``: bytes of all of its entries.
    ``stamp``: of a checkpoint that its rows include."""

    def __init__(self, read: ReadAgain, size: int, rows: int, stamp: int) -> None:
        super().__init__(f"{size:,} bytes")
        self._read = read
        # The number of entries that have about PIECE bytes.
        self._step = max(PIECE * rows // size, 1)
        self.size = size
        self.stamp = stamp

    def rows(self) -> AbstractAsyncContextManager[tuple[Matches, AsyncIterator[EntryRow]]]:
        """See ``ReadAgain``."""
        return self._read(self._step)


class Listing(Struct, frozen=True):
    """The name of a statement with the columns of ``served_columns.sql``, and its parameters except
    the last, ``inline``. There is a second statement, ``json_…``, that returns the page as JSON.
    """

    pool: Pool
    name: str
    parameters: Sequence[Any]
    locale: str
    type_slug: str | None = None

    async def page(self, *, as_json: bool) -> Page[EntryRow, int]:
        """``as_json``: as JSON, if all entries of the page are stored ready to serve. Raises
        TypeNotFound, LargePage."""
        if as_json:
            records = await self.pool.shared.fetch(f"json_{self.name}", *self.parameters, INLINE)
            if not records:
                return page_of(records, self._row, self.type_slug)
            total, stamp, json = records[0]["total"], records[0]["stamp"], records[0]["data"]
            if json is not None:
                return Page([], total, stamp=stamp, json=json)
        records = await self.pool.shared.fetch(self.name, *self.parameters, INLINE)
        try:
            return page_of(records, self._row, self.type_slug)
        except NotInline:
            size = sum(record["size"] for record in records)
            raise LargePage(self.rows, size, len(records), records[0]["stamp"]) from None

    @asynccontextmanager
    async def rows(self, step: int) -> AsyncIterator[tuple[int, AsyncIterator[EntryRow]]]:
        """The total, and the entries of the page in portions; all as they were at one moment.
        Raises TypeNotFound, ReadModelUnavailable."""
        query = statement("read_side", self.name)
        async with snapshot(self.pool) as connection:
            cursor = await connection.cursor(query, *self.parameters, WHOLE)
            records = await cursor.fetch(step)
            report_stamp(self.pool, records)
            first = page_of(records, self._row, self.type_slug)

            async def rows() -> AsyncIterator[EntryRow]:
                rows = first.rows
                while rows:
                    # Entries that have been read are not kept.
                    yield rows.pop(0)
                    if not rows:
                        rows = [self._row(record) for record in await cursor.fetch(step)]

            yield first.matches, rows()

    def _row(self, record: Any) -> EntryRow:
        return entry_row(record, self.locale)


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
) -> Page[EntryRow, int]:
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
) -> Page[EntryRow, int]:
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
) -> Page[str, int]:
    """Only the ids, for entries that are read together with others; ``locale`` and ``search`` are
    ignored. Raises TypeNotFound."""
    name, parameters = _filtered("ids", filters)
    where: list[Any] = [scope.workspace, scope.environment, limit, offset, *parameters]
    records = await pool.shared.fetch(name, *where)
    return page_of(records, lambda record: str(record["id"]), filters.type_slug)


async def list_summaries(
    pool: Pool, scope: Scope, filters: Filters, *, limit: int, offset: int
) -> Page[EntrySummary, int]:
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


def page_of(
    records: Sequence[Any], row: Callable[[Any], T], type_slug: str | None = None
) -> Page[T, int]:
    """An empty page is one row of nulls with the total; an unknown content type returns no row."""
    if not records:
        if type_slug is not None:
            raise TypeNotFound
        return Page([], 0)
    rows = [row(record) for record in records if record["id"] is not None]
    return Page(rows, records[0]["total"], stamp=records[0].get("stamp"))
