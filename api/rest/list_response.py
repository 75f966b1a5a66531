"""A list as a response: from memory, or from a file if its entries are large."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from aiohttp import web
from msgspec import Struct
from msgspec.structs import replace

from api.context import Call
from api.http.compression import GZIP_FORMAT, GZIP_LEVEL, tag_of
from api.http.large_bodies import JSON, BodyFile, LargeResponse
from api.http.representation import takes_gzip
from api.rest import wire
from api.rest.kept_response import Reading, add_position, json_response, kept
from api.rest.list_query import ListQuery
from api.rest.past_includes import past_includes
from api.rest.point_in_time import ListBudget, PastList, list_at
from api.rest.shape import Shape, check_past
from read_side.entries import EntryRow
from read_side.listing import LargePage, Page
from read_side.notices import Dependency
from read_side.pool import Pool
from read_side.queries.pages import FoundPage, list_found
from read_side.queries.request import EntryQuery
from read_side.stamp import position_of

MAX_COMPRESSED = 16 * 1024 * 1024
"""Bytes; a larger list would occupy a processor for seconds."""
PER_ENTRY = 1024
"""Bytes of an entry in JSON, without its texts."""
E = TypeVar("E", bound=wire.Entry)
ReadPage = Callable[[Pool], Awaitable[Page[EntryRow]]]


class WrittenEntries(Struct, frozen=True):
    """``size``: bytes of the entries of a file; ``stamp``: of a checkpoint that they include."""

    size: int
    stamp: int


async def list_response(
    call: Call,
    parameters: tuple[object, ...],
    dependencies: tuple[Dependency, ...],
    read_page: ReadPage,
    entry: Callable[[EntryRow], E],
    body: Callable[[list[E], Any], wire.Wire],
) -> web.Response:
    """``parameters`` and ``dependencies``: see ``kept``. ``body`` builds the body from the entries
    and the total."""

    async def read(pool: Pool) -> Reading:
        page = await read_page(pool)
        start, end = _around_entries(body([], page.total))
        entries = page.json
        if entries is None:
            entries = b",".join(wire.encode(entry(row)) for row in page.rows)
        whole = b"".join((start, entries, end))
        return Reading(whole, page.stamp, dependencies, page.may_grow)

    try:
        return await kept(call, parameters, dependencies, read)
    except LargePage as caught:
        large = caught

    async def write(file: BodyFile) -> WrittenEntries:
        await _write(file, large, entry, body)
        return WrittenEntries(large.size, large.stamp)

    return await response_from_file(call, large.size, write)


class ListSource(Struct, frozen=True):
    """How a list is read. ``parameters``: see ``kept``; ``pagination`` of the total of the page."""

    parameters: tuple[object, ...]
    read_page: ReadPage
    pagination: Callable[[Any], wire.ListPagination]


def found_source(call: Call, asked: ListQuery, query: EntryQuery) -> ListSource:
    """A list with filters, sort keys or a cursor. ``query``: without the boundary of the cursor.

    Raises BadRequest; reading raises TypeNotFound, InvalidQuery, IncompleteIndex, LargePage.
    """
    scope = call.scope
    placed = call.service.cursors.placed(scope, call.locale, query, asked.cursor)

    def pagination(found: FoundPage) -> wire.ListPagination:
        return _pagination(call, asked, query, found)

    return ListSource(
        ("found", asked.cursor, placed),
        lambda pool: list_found(pool, scope, placed, call.locale),
        pagination,
    )


async def past_response(
    call: Call,
    asked: ListQuery,
    query: EntryQuery,
    shaped: Shape | None,
    entry: Callable[[EntryRow], E],
    body: Callable[[list[E], wire.ListPagination], wire.Wire],
) -> web.Response:
    """A list as it was at the time of the query. ``query``: without the boundary of the cursor.

    Raises BadRequest, and what ``list_at`` raises.
    """
    at, budget = query.as_of, ListBudget()
    assert at is not None
    query = call.service.cursors.placed(call.scope, call.locale, query, asked.cursor)
    past = await list_at(call.service, call.scope, query, budget, locale=call.locale)
    rows = [entry(one.row) for one in past.entries]
    if shaped is not None:
        check_past(shaped, [one.content_type for one in past.entries])
        rows = list(map(shaped.shown, rows))
    included = await past_includes(call, shaped, past.entries, at, budget)
    whole: wire.Wire = body(rows, _pagination(call, asked, query, past))
    response = json_response(call, replace(whole, includes=included))
    add_position(call, response, past.position)
    return response


def _pagination(
    call: Call, asked: ListQuery, query: EntryQuery, found: FoundPage | PastList
) -> wire.ListPagination:
    if asked.cursor is None:
        return counted(asked, found.total)
    following = call.service.cursors.token(call.scope, call.locale, query, found.next)
    return wire.ListPagination(limit=asked.limit, total=found.total, next=following)


def counted(asked: ListQuery, total: int | None) -> wire.ListPagination:
    """The pagination of a list without a cursor."""
    shown = total if asked.counted else None
    return wire.ListPagination(limit=asked.limit, offset=asked.offset, total=shown)


async def response_from_file(
    call: Call, size: int, write: Callable[[BodyFile], Awaitable[WrittenEntries]]
) -> LargeResponse:
    """``size``: bytes of the page; ``write`` reserves what it adds to it. The connection is
    released as soon as the file is complete."""
    bodies, workspace = call.service.large_bodies, call.scope.workspace
    compressed = size <= MAX_COMPRESSED and takes_gzip(call.request)
    file = await bodies.file(call.request, workspace, size + wire.MAX_LIMIT * PER_ENTRY)
    if compressed:
        file.compress(GZIP_LEVEL, GZIP_FORMAT)
    async with bodies.turns.turn(workspace):
        written = await write(file)
    call.service.limits.charge_bytes(call.known_caller, written.size)
    response = LargeResponse(file.payload(JSON), tag_of(file.digest))
    if compressed:
        response.headers["Content-Encoding"] = "gzip"
    add_position(call, response, position_of(written.stamp))
    return response


async def _write(
    file: BodyFile,
    large: LargePage,
    entry: Callable[[EntryRow], E],
    body: Callable[[list[E], Any], wire.Wire],
) -> None:
    async with large.rows() as (page, rows):
        start, end = _around_entries(body([], page))
        before = start
        async for row in rows:
            await asyncio.to_thread(file.write, before + wire.encode(entry(row)))
            before = b","
        # All entries may have been deleted since the sizes were read.
        await asyncio.to_thread(file.end, end if before == b"," else start + end)


def _around_entries(empty: wire.Wire) -> Sequence[bytes]:
    start, name, end = wire.encode(empty).partition(b'"data":[')
    return start + name, end
