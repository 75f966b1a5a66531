"""A response with entries: from memory, or from a file if its entries are large."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from typing import Any

from aiohttp import web
from msgspec import Raw, Struct
from msgspec.structs import replace

from api.context import Call
from api.errors import BadRequest
from api.http.large_bodies import JSON, BodyFile, LargeResponse
from api.http.representation import takes_gzip
from api.rest import wire
from api.rest.cached_response import Reading, add_position, cached_response, json_response
from api.rest.includes import IncludeReader, LargeIncludes, past_includes
from api.rest.point_in_time import ListBudget, PastList
from api.rest.shape import Fields, Shape, check_past, checked_fields
from read_side.entries import EntryRow
from read_side.notices import Dependency, content_types
from read_side.paging import LargePage, Matches, Page
from read_side.pool import Pool
from read_side.stamp import position_of

MAX_COMPRESSED = 16 * 1024 * 1024
"""Bytes; a larger list would occupy a processor for seconds."""
PER_ENTRY = 1024
"""Bytes of an entry in JSON, without its texts."""
_PLACE = b"{}"
ReadPage = Callable[[Pool], Awaitable[Page[EntryRow, Matches]]]
ShowEntry = Callable[[EntryRow, str], wire.Entry]
"""From a row and the locale of its texts."""


async def entries_response(reader: EntryReader) -> web.Response:
    """Raises BadRequest, and what ``read_page`` raises except LargePage."""
    try:
        parameters = (reader.shape, *reader.parameters)
        return await cached_response(reader.call, parameters, reader.dependencies, reader.read)
    except LargePage as caught:
        large = caught
    return await _response_from_file(reader, large)


async def _response_from_file(reader: EntryReader, large: LargePage) -> LargeResponse:
    """The connection is released as soon as the file is complete."""
    call = reader.call
    bodies, workspace = call.service.large_bodies, call.scope.workspace
    compressed = large.size <= MAX_COMPRESSED and takes_gzip(call.request)
    file = await bodies.file(call.request, workspace, large.size + wire.MAX_LIMIT * PER_ENTRY)
    if compressed:
        file.compress()
    async with bodies.turns.turn(workspace):
        includes = await reader.write(file, large)
    call.service.limits.charge_bytes(call.caller, large.size + includes.bytes)
    response = LargeResponse(file.payload(JSON), file.tag)
    if compressed:
        response.headers["Content-Encoding"] = "gzip"
    assert includes.stamp is not None
    add_position(call, response, position_of(includes.stamp))
    return response


async def past_response(
    call: Call,
    shape: Shape,
    page: PastList,
    *,
    at: datetime,
    budget: ListBudget,
    entry: ShowEntry,
    body: Callable[[list[Any]], wire.Wire],
) -> web.Response:
    """Entries as they were at a time. ``budget``: shared with the page's includes.

    Raises BadRequest, and what ``past_includes`` raises.
    """
    check_past(shape, [past.content_type for past in page.entries])
    shown = [shape.select(entry(past.row, call.locale)) for past in page.entries]
    included = await past_includes(call, shape.paths, page.entries, at, budget)
    response = json_response(call, replace(body(shown), includes=included))
    add_position(call, response, page.position)
    return response


@asynccontextmanager
async def _in_memory(
    page: Page[EntryRow, Matches], _step: int
) -> AsyncIterator[tuple[Matches, AsyncIterator[EntryRow]]]:
    """A page with large includes, to be written like one with large entries."""

    async def rows() -> AsyncIterator[EntryRow]:
        for row in page.rows:
            yield row

    yield page.matches, rows()


class EntryReader(Struct, kw_only=True):
    """How the entries of a response are read and shown. ``parameters`` and ``dependencies``: see
    ``cached_response``. ``type_slug``: of all of them, or None. ``body`` builds the body from the
    entries and the matches. ``is_single``: the response depends on its entry alone. ``fields``:
    those that the shape names; ``stamp``: of the checkpoint at which they were read."""

    call: Call
    shape: Shape
    parameters: tuple[object, ...]
    dependencies: tuple[Dependency, ...]
    type_slug: str | None
    read_page: ReadPage
    entry: ShowEntry
    body: Callable[[list[Any], Matches], wire.Wire]
    is_single: bool = False
    fields: Fields = {}
    stamp: int | None = None

    async def read(self, pool: Pool) -> Reading:
        """Raises BadRequest, and what ``read_page`` raises; LargePage also for large includes."""
        found: list[Dependency] = [*self.dependencies]
        if self.shape.slugs:
            type_slug = self.type_slug
            known = await checked_fields(pool, self.call.scope, self.shape, type_slug)
            self.fields, self.stamp = known.fields, known.stamp
            found.append(content_types(self.call.scope))
        page = await self.read_page(pool)
        if self.is_single:
            found += [row.id for row in page.rows]
        shown = [self._shown(row) for row in page.rows] if page.json is None else [Raw(page.json)]
        body = self.body(shown, page.matches)
        if page.stamp is None or not self.shape.paths:
            stamp = self._earlier(page.stamp)
            return Reading(wire.encode(body), stamp, tuple(found), page.may_grow)
        includes = self._include_reader(pool, page.stamp, is_file=False)
        for row in page.rows:
            includes.add(self._type_of(row), row.fields)
        try:
            whole: wire.Wire = replace(body, includes=await includes.read_all())
        except LargeIncludes:
            size = sum(memoryview(row.fields).nbytes for row in page.rows)
            raise LargePage(partial(_in_memory, page), size, len(page.rows), page.stamp) from None
        found += includes.dependencies()
        parts = tuple(dict.fromkeys(found))
        return Reading(wire.encode(whole), includes.stamp, parts, page.may_grow)

    async def write(self, file: BodyFile, large: LargePage) -> IncludeReader:
        """Writes piece by piece. Returns the reader of the includes. Raises BadRequest."""
        pool = self.call.service.read_model
        includes = self._include_reader(pool, large.stamp, is_file=True)
        refusal: BadRequest | None = None
        async with large.rows() as (matches, rows):
            body = wire.encode(self.body([Raw(_PLACE)], matches))
            start, _, end = body.partition(_PLACE)
            before = start
            async for row in rows:
                try:
                    await asyncio.to_thread(self._write_entry, file, before, row, includes)
                except BadRequest as error:  # raised here, it would end the connection
                    refusal = error
                    break
                before = b","
        if refusal is not None:
            raise refusal
        # All entries may have been deleted since the sizes were read.
        end = end if before == b"," else start + end
        if not self.shape.paths:
            await asyncio.to_thread(file.end, end)
        else:
            await asyncio.to_thread(file.write, end[:-1])
            await self._write_includes(file, includes)
        return includes

    def _write_entry(
        self, file: BodyFile, before: bytes, row: EntryRow, includes: IncludeReader
    ) -> None:
        includes.add(self._type_of(row), row.fields)
        file.write(before + wire.encode(self._shown(row)))

    async def _write_includes(self, file: BodyFile, includes: IncludeReader) -> None:
        before = b',"includes":{"entries":{'
        async for rows in includes.levels():
            if rows:
                await asyncio.to_thread(self._write_included, file, before, rows)
                before = b","
        media = wire.encode(await includes.media())
        end = b'},"media":' + media + b"}}"
        await asyncio.to_thread(file.end, end if before == b"," else before + end)

    def _write_included(self, file: BodyFile, before: bytes, rows: list[EntryRow]) -> None:
        for row in rows:
            entry = wire.encode(wire.entry_of_any_type(row, self.call.locale))
            file.write(before + wire.encode(row.id) + b":" + entry)
            before = b","

    def _shown(self, row: EntryRow) -> Any:
        return self.shape.select(self.entry(row, self.call.locale))

    def _include_reader(self, pool: Pool, stamp: int | None, *, is_file: bool) -> IncludeReader:
        paths, earlier = self.shape.paths, self._earlier(stamp)
        return IncludeReader(self.call, pool, paths, self.fields, earlier, is_file=is_file)

    def _type_of(self, row: EntryRow) -> str:
        return row.type_slug or self.type_slug or ""

    def _earlier(self, stamp: int | None) -> int | None:
        """The stamp of the fields is never later than that of the page."""
        return stamp if stamp is None or self.stamp is None else min(stamp, self.stamp)
