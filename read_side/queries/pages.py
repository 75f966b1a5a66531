"""Pages of the entries that a query selects, read at one moment."""

from __future__ import annotations

import struct
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from heapq import nlargest
from typing import Any

from msgspec import Struct

from read_side.entries import INLINE, WHOLE, EntryRow, NotInline, entry_row
from read_side.paging import EntrySummary, LargePage, Page, entry_summary
from read_side.pool import Pool, at_one_moment, snapshot
from read_side.queries.budget import Budget
from read_side.queries.comparison import EntrySelection, selection
from read_side.queries.finder import Finder, PageQuery
from read_side.queries.lists import Lists, catalogue
from read_side.queries.request import UNKNOWN_CURSOR, Boundary, EntryQuery
from read_side.queries.statements import Match, Statements
from read_side.refusals import InvalidQuery
from read_side.search import MOST, SearchResult, search
from write_side.domain.identity import Scope
from write_side.postgres.connection import Connection
from write_side.postgres.statements import statement

_LISTS = statement("read_side", "query_lists")
_ROWS = statement("read_side", "list_found")
_SUMMARIES = statement("read_side", "summaries_found")
_IDS = statement("read_side", "ids_found")
_RANK = struct.Struct(">f")


class FoundPage(Struct, frozen=True):
    """``positions``: of the entries, in their order. ``total``: None if it is not wanted or beyond
    the budget. ``next``: where the next page begins; None after the last. ``stamp``: of the
    checkpoint at which it was read. ``paged``: how many entries a search has pages of.
    ``has_unread``: whether a search may find more at the same checkpoint later."""

    positions: list[int]
    total: int | None
    next: Boundary | None
    stamp: int | None
    paged: int = 0
    has_unread: bool = False


async def find(connection: Connection, scope: Scope, query: EntryQuery) -> FoundPage:
    """Raises TypeNotFound, InvalidQuery, TooBroad, IncompleteIndex."""
    where = (scope.workspace, scope.environment, query.type_slug)
    known = catalogue(await connection.fetch(_LISTS, *where), query.type_slug)
    if query.after is not None and query.after.type_id not in (None, known.type_id):
        raise InvalidQuery(UNKNOWN_CURSOR)
    selected = selection(query, known.fields)
    lists = Lists(scope, known.selected(selected, query))
    if not lists.combinations or selected.ids == frozenset():
        return FoundPage([], 0 if query.counted else None, None, known.stamp)
    total, paged, found, has_unread = await _matches(connection, lists, selected, query)
    page = found[: query.limit]
    return FoundPage(
        [one.position for one in page],
        total if query.counted else None,
        Boundary(page[-1].keys, page[-1].position, known.type_id)
        if len(found) > query.limit
        else None,
        known.stamp,
        paged,
        has_unread,
    )


async def finder_of(
    connection: Connection, lists: Lists, selected: EntrySelection, offset: int
) -> Finder:
    """A Finder of the selected entries in the lists, for a page after the offset."""
    named = await Statements(connection, lists).places(
        selected.excluded_ids | (selected.ids or frozenset())
    )
    places = None
    if selected.ids is not None:
        places = [named[one] for one in selected.ids - selected.excluded_ids if one in named]
    excluded = [named[one][1] for one in selected.excluded_ids if one in named]
    return Finder(Statements(connection, lists, excluded), Budget(selected, offset), places)


async def _matches(
    connection: Connection, lists: Lists, selected: EntrySelection, query: EntryQuery
) -> tuple[int | None, int, list[Match], bool]:
    """The total, if it is wanted and within the budget; how many matches a search has pages of; the
    matches from the offset on, one more than the limit; and whether a search will find others
    without a change of the checkpoint."""
    page = PageQuery(selected.conditions, selected.sort, query.after, query.limit + 1)
    finder = await finder_of(connection, lists, selected, query.offset)
    if query.words is None:
        total, matches = await finder.page(page, query.offset, counted=query.counted)
        return total, 0, matches, False
    kinds = [one.kind for one in lists.combinations]
    result = await search(connection.fetch, lists.scope, query.words, kinds, query.locale)
    paged, matches = await _search_page(finder, result, page, query.offset)
    return paged if result.is_complete else None, paged, matches, result.has_unread


async def _search_page(
    finder: Finder, result: SearchResult, query: PageQuery, offset: int
) -> tuple[int, list[Match]]:
    """The number of matches, and those of the page: sorted, or the most relevant first, the newest
    first within a rank (ADR 45)."""
    ranks = dict(zip(result.positions, result.ranks, strict=True))
    if query.sort or query.conditions or finder.places is not None or finder.excludes:
        number_of = finder.lists.numbers
        numbers = [number_of[kind] for kind in result.kinds]
        found = finder.among([*zip(numbers, result.positions, strict=True)])
        if query.sort:
            total, matches = await found.page(query, offset, counted=True)
            assert total is not None, "all of few entries are read"
            return total, matches
        everything = PageQuery(query.conditions, (), None, MOST)
        _, matches = await found.page(everything, 0, counted=True)
        ranks = {match.position: ranks[match.position] for match in matches}
    ranked: Iterable[tuple[float, int]] = zip(ranks.values(), ranks, strict=True)
    if query.after is not None:
        # Ranks are not negative, so their bytes sort in the same order.
        last = (query.after.keys[0], query.after.position)
        ranked = (place for place in ranked if (_RANK.pack(place[0]), place[1]) < last)
    page = nlargest(offset + query.limit, ranked)[offset:]
    return len(ranks), [Match((_RANK.pack(rank),), position) for rank, position in page]


async def _read(
    pool: Pool, scope: Scope, query: EntryQuery, rows: str, *parameters: Any
) -> tuple[FoundPage, Sequence[Any]]:
    """The page, and what the statement ``rows`` returns for its entries."""

    async def read(connection: Connection) -> tuple[FoundPage, Sequence[Any]]:
        found = await find(connection, scope, query)
        where = (scope.workspace, scope.environment, found.positions, *parameters)
        return found, await connection.fetch(rows, *where) if found.positions else []

    return await at_one_moment(pool, scope.workspace, read)


async def list_ids_found(
    pool: Pool, scope: Scope, query: EntryQuery
) -> tuple[FoundPage, list[str]]:
    """The page, and the ids of its entries. Raises what ``find`` raises."""
    found, records = await _read(pool, scope, query, _IDS)
    _report_stamp(pool, found)
    return found, [record["id"] for record in records]


async def list_summaries_found(
    pool: Pool, scope: Scope, query: EntryQuery
) -> tuple[FoundPage, list[EntrySummary]]:
    """The page and its entries. Raises what ``find`` raises."""
    found, records = await _read(pool, scope, query, _SUMMARIES, query.locale)
    return found, [entry_summary(record) for record in records]


async def list_found(
    pool: Pool, scope: Scope, query: EntryQuery, locale: str
) -> Page[EntryRow, FoundPage]:
    """Raises what ``find`` raises, and LargePage."""
    found, records = await _read(pool, scope, query, _ROWS, locale, INLINE)
    _report_stamp(pool, found)
    try:
        rows = [entry_row(record, locale) for record in records]
        return Page(rows, found, stamp=found.stamp, may_grow=found.has_unread)
    except NotInline:
        size = sum(record["size"] for record in records)
        read = partial(_read_again, pool, scope, query, locale)
        raise LargePage(read, size, len(records), records[0]["stamp"]) from None


@asynccontextmanager
async def _read_again(
    pool: Pool, scope: Scope, query: EntryQuery, locale: str, step: int
) -> AsyncIterator[tuple[FoundPage, AsyncIterator[EntryRow]]]:
    """The page as it is at this moment. Raises what ``find`` raises, ReadModelUnavailable."""
    async with snapshot(pool) as connection:
        found = await find(connection, scope, query)
        _report_stamp(pool, found)
        where = (scope.workspace, scope.environment, found.positions, locale)
        cursor = await connection.cursor(_ROWS, *where, WHOLE)

        async def rows() -> AsyncIterator[EntryRow]:
            while records := await cursor.fetch(step):
                for record in records:
                    yield entry_row(record, locale)

        yield found, rows()


def _report_stamp(pool: Pool, page: FoundPage) -> None:
    if page.stamp is not None:
        pool.on_stamp(page.stamp)
