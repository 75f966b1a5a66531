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
from api.rest.cached_response import Reading, add_position, cached_response, json_response
from api.rest.list_query import ListQuery
from api.rest.past_includes import past_includes
from api.rest.point_in_time import ListBudget, PastList, list_at
from api.rest.shape import Shape, check_past
from read_side.entries import EntryRow
from read_side.notices import Dependency
from read_side.paging import LargePage, Page
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


class EntrySource(Struct, frozen=True):
    """How the entries of a response are read and shown. ``parameters`` and ``dependencies``: see
    ``cached_response``. ``type_slug``: of all of them, or None. ``entry`` shows one of them;
    ``body`` builds the body from the entries and the total. ``is_single``: the response depends on
    its entry alone."""

    parameters: tuple[object, ...]
    dependencies: tuple[Dependency, ...]
    type_slug: str | None
    read_page: ReadPage
    entry: Callable[[EntryRow], wire.Entry]
    body: Callable[[list[Any], Any], wire.Wire]
    is_single: bool = False


async def list_response(call: Call, source: EntrySource) -> web.Response:
    """Raises what ``read_page`` raises except LargePage."""

    async def read(pool: Pool) -> Reading:
        page = await source.read_page(pool)
        start, end = _around_entries(source.body([], page.total))
        entries = page.json
        if entries is None:
            entries = b",".join(wire.encode(source.entry(row)) for row in page.rows)
        whole = b"".join((start, entries, end))
        return Reading(whole, page.stamp, source.dependencies, page.may_grow)

    try:
        return await cached_response(call, source.parameters, source.dependencies, read)
    except LargePage as caught:
        large = caught

    async def write(file: BodyFile) -> WrittenEntries:
        await _write(file, large, source)
        return WrittenEntries(large.size, large.stamp)

    return await response_from_file(call, large.size, write)


class ListPages(Struct, frozen=True):
    """How the pages of a list are read. ``parameters``: see ``cached_response``. ``pagination``
    takes the total of a page."""

    parameters: tuple[object, ...]
    read: ReadPage
    pagination: Callable[[Any], wire.ListPagination]


def found_pages(call: Call, params: ListQuery, query: EntryQuery) -> ListPages:
    """A list with filters, sort keys or a cursor. ``query``: without the boundary of the cursor.

    Raises BadRequest; reading raises TypeNotFound, InvalidQuery, IncompleteIndex, LargePage.
    """
    scope = call.scope
    page_query = call.service.cursors.page_query(scope, call.locale, query, params.cursor)
    return ListPages(
        ("found", params.cursor, page_query),
        lambda pool: list_found(pool, scope, page_query, call.locale),
        lambda found: _pagination(call, params, query, found),
    )


async def past_response(
    call: Call,
    params: ListQuery,
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
    query = call.service.cursors.page_query(call.scope, call.locale, query, params.cursor)
    past = await list_at(call.service, call.scope, query, budget, locale=call.locale)
    rows = [entry(one.row) for one in past.entries]
    if shaped is not None:
        check_past(shaped, [one.content_type for one in past.entries])
        rows = list(map(shaped.select, rows))
    included = await past_includes(call, shaped, past.entries, at, budget)
    whole: wire.Wire = body(rows, _pagination(call, params, query, past))
    response = json_response(call, replace(whole, includes=included))
    add_position(call, response, past.position)
    return response


def _pagination(
    call: Call, params: ListQuery, query: EntryQuery, page: FoundPage | PastList
) -> wire.ListPagination:
    if params.cursor is None:
        return offset_pagination(params, page.total)
    following = call.service.cursors.token(call.scope, call.locale, query, page.next)
    return wire.ListPagination(limit=params.limit, total=page.total, next=following)


def offset_pagination(params: ListQuery, total: int | None) -> wire.ListPagination:
    """The pagination of a list without a cursor."""
    shown = total if params.counted else None
    return wire.ListPagination(limit=params.limit, offset=params.offset, total=shown)


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


async def _write(file: BodyFile, large: LargePage, source: EntrySource) -> None:
    async with large.rows() as (page, rows):
        start, end = _around_entries(source.body([], page))
        before = start
        async for row in rows:
            await asyncio.to_thread(file.write, before + wire.encode(source.entry(row)))
            before = b","
        # All entries may have been deleted since the sizes were read.
        await asyncio.to_thread(file.end, end if before == b"," else start + end)


def _around_entries(empty: wire.Wire) -> Sequence[bytes]:
    start, name, end = wire.encode(empty).partition(b'"data":[')
    return start + name, end
