"""Responses with ``select`` or ``include``: as the plain ones, with fewer members or with more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial

from aiohttp import web
from msgspec import Raw
from msgspec.structs import replace

from api.context import Call
from api.errors import BadRequest
from api.http.large_bodies import BodyFile
from api.rest import wire
from api.rest.cached_response import Reading, cached_response
from api.rest.include_paths import Fields, Step, steps_of
from api.rest.includes import IncludeReader, LargeIncludes
from api.rest.list_response import EntrySource, WrittenEntries, response_from_file
from api.rest.shape import Shape, checked_fields
from read_side.entries import EntryRow
from read_side.notices import Dependency, content_types, singles_of_type
from read_side.paging import LargePage, Page
from read_side.pool import Pool

_PLACE = b"{}"


async def shaped_single(
    call: Call,
    shape: Shape,
    parameters: tuple[object, ...],
    type_slug: str,
    read_row: Callable[[Pool], Awaitable[EntryRow]],
) -> web.Response:
    """One entry, as a page of one. Raises BadRequest, and what ``read_row`` raises."""

    async def read_page(pool: Pool) -> Page[EntryRow]:
        row = await read_row(pool)
        return Page([row], 1, stamp=row.stamp)

    source = EntrySource(
        parameters,
        (singles_of_type(call.scope, type_slug),),
        type_slug,
        read_page,
        lambda row: wire.single_entry(row, call.locale),
        lambda rows, _: wire.SingleBody(True, rows[0]),
        is_single=True,
    )
    return await shaped_response(call, shape, source)


async def shaped_response(call: Call, shape: Shape, source: EntrySource) -> web.Response:
    """Raises BadRequest, and what ``read_page`` raises except LargePage."""
    reader = _Reader(call, shape, source)
    parameters = ("shaped", *shape.key, *source.parameters)
    try:
        return await cached_response(call, parameters, source.dependencies, reader.read)
    except LargePage as caught:
        large = caught
    return await response_from_file(call, large.size, lambda file: reader.write(file, large))


@asynccontextmanager
async def _in_memory(
    page: Page[EntryRow], _step: int
) -> AsyncIterator[tuple[int, AsyncIterator[EntryRow]]]:
    """A page with large includes, to be written like one with large entries."""

    async def rows() -> AsyncIterator[EntryRow]:
        for row in page.rows:
            yield row

    yield page.total, rows()


class _Reader:
    def __init__(self, call: Call, shape: Shape, source: EntrySource) -> None:
        self._call = call
        self._shape = shape
        self._source = source
        self._steps: Step = steps_of(shape.paths)
        self._fields: Fields = {}
        self._stamp: int | None = None

    async def read(self, pool: Pool) -> Reading:
        """Raises BadRequest, and what ``read_page`` raises; LargePage also for large includes."""
        found: list[Dependency] = [*self._source.dependencies]
        if self._shape.slugs:
            type_slug = self._source.type_slug
            known = await checked_fields(pool, self._call.scope, self._shape, type_slug)
            self._fields, self._stamp = known.fields, known.stamp
            found.append(content_types(self._call.scope))
        page = await self._source.read_page(pool)
        if self._source.is_single:
            found += [row.id for row in page.rows]
        shown = [self._shape.select(self._source.entry(row)) for row in page.rows]
        body = self._source.body(shown, page.total)
        if page.stamp is None or not self._shape.paths:
            stamp = self._earlier(page.stamp)
            return Reading(wire.encode(body), stamp, tuple(found), page.may_grow)
        try:
            includes, included = await self._included(pool, page)
        except LargeIncludes:
            size = sum(memoryview(row.fields).nbytes for row in page.rows)
            raise LargePage(partial(_in_memory, page), size, len(page.rows), page.stamp) from None
        found += includes.dependencies()
        whole: wire.Wire = replace(body, includes=included)
        parts = tuple(dict.fromkeys(found))
        return Reading(wire.encode(whole), includes.stamp, parts, page.may_grow)

    async def _included(
        self, pool: Pool, page: Page[EntryRow]
    ) -> tuple[IncludeReader, wire.Includes]:
        includes = self._include_reader(pool, page.stamp, is_file=False)
        for row in page.rows:
            includes.add(self._type_of(row), row.fields)
        entries = {
            row.id: wire.entry_of_any_type(row, self._call.locale)
            async for rows in includes.levels()
            for row in rows
        }
        files = await includes.media()
        media = {name: wire.media_file(file) for name, file in files.items()}
        return includes, wire.Includes(entries, media)

    async def write(self, file: BodyFile, large: LargePage) -> WrittenEntries:
        """Piece by piece; raises BadRequest."""
        pool = self._call.service.read_model
        includes = self._include_reader(pool, large.stamp, is_file=True)
        refusal: BadRequest | None = None
        async with large.rows() as (total, rows):
            start, end = self._around_entries(total)
            before = start
            async for row in rows:
                try:
                    await asyncio.to_thread(self._write_entry, file, before, row, includes)
                except BadRequest as error:  # it must not end the connection
                    refusal = error
                    break
                before = b","
        if refusal is not None:
            raise refusal
        end = end if before == b"," else start + end
        if not self._shape.paths:
            await asyncio.to_thread(file.end, end)
        else:
            await asyncio.to_thread(file.write, end[:-1])
            await self._write_includes(file, includes)
        assert includes.stamp is not None
        return WrittenEntries(large.size + includes.bytes, includes.stamp)

    def _write_entry(
        self, file: BodyFile, before: bytes, row: EntryRow, includes: IncludeReader
    ) -> None:
        includes.add(self._type_of(row), row.fields)
        file.write(before + wire.encode(self._shape.select(self._source.entry(row))))

    async def _write_includes(self, file: BodyFile, includes: IncludeReader) -> None:
        before = b',"includes":{"entries":{'
        async for rows in includes.levels():
            if rows:
                await asyncio.to_thread(self._write_included, file, before, rows)
                before = b","
        files = await includes.media()
        media = wire.encode({name: wire.media_file(one) for name, one in files.items()})
        end = b'},"media":' + media + b"}}"
        await asyncio.to_thread(file.end, end if before == b"," else before + end)

    def _write_included(self, file: BodyFile, before: bytes, rows: list[EntryRow]) -> None:
        for row in rows:
            entry = wire.encode(wire.entry_of_any_type(row, self._call.locale))
            file.write(before + wire.encode(row.id) + b":" + entry)
            before = b","

    def _around_entries(self, total: int) -> tuple[bytes, bytes]:
        body = self._source.body([Raw(_PLACE)], total)
        start, _, end = wire.encode(body).partition(_PLACE)
        return start, end

    def _include_reader(self, pool: Pool, stamp: int | None, *, is_file: bool) -> IncludeReader:
        earlier = self._earlier(stamp)
        return IncludeReader(self._call, pool, self._steps, self._fields, earlier, is_file=is_file)

    def _type_of(self, row: EntryRow) -> str:
        return row.type_slug or self._source.type_slug or ""

    def _earlier(self, stamp: int | None) -> int | None:
        """The stamp of the fields is never later than that of the page."""
        return stamp if stamp is None or self._stamp is None else min(stamp, self._stamp)
