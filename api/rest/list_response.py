"""A list as a response: from memory, or from a file if its entries are large."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from aiohttp import web

from api.context import Call
from api.http.large_bodies import JSON, BodyFile, LargeResponse
from api.http.representation import GZIP_FORMAT, GZIP_LEVEL, tag_of, takes_gzip
from api.rest import wire
from read_side.entries import EntryRow
from read_side.listing import LargePage, Page

MAX_COMPRESSED = 16 * 1024 * 1024
"""Bytes; a larger list would occupy a processor for seconds."""
PER_ENTRY = 1024
"""Bytes of an entry in JSON, without its texts."""
E = TypeVar("E", bound=wire.Entry)


async def list_response(
    call: Call,
    reading: Awaitable[Page[EntryRow]],
    entry: Callable[[EntryRow], E],
    body: Callable[[list[E], int], wire.Wire],
) -> web.Response:
    """``body`` builds the body from the entries and the total."""
    try:
        page = await reading
    except LargePage as large:
        return await _from_file(call, large, entry, body)
    return json_response(call, body([entry(row) for row in page.rows], page.total))


def json_response(call: Call, body: wire.Wire) -> web.Response:
    return encoded_response(call, wire.encode(body))


def encoded_response(call: Call, body: bytes) -> web.Response:
    """``body``: JSON."""
    call.service.limits.charge_bytes(call.known_caller, len(body))
    return web.Response(body=body, content_type=JSON)


async def _from_file(
    call: Call,
    large: LargePage,
    entry: Callable[[EntryRow], E],
    body: Callable[[list[E], int], wire.Wire],
) -> LargeResponse:
    """The connection is released as soon as the file is complete."""
    bodies, workspace = call.service.large_bodies, call.scope.workspace
    compressed = large.size <= MAX_COMPRESSED and takes_gzip(call.request)
    size = large.size + wire.MAX_LIMIT * PER_ENTRY
    file = await bodies.file(call.request, workspace, size)
    if compressed:
        file.compress(GZIP_LEVEL, GZIP_FORMAT)
    async with bodies.turns.turn(workspace):
        await _write(file, large, entry, body)
    call.service.limits.charge_bytes(call.known_caller, large.size)
    response = LargeResponse(file.payload(JSON), tag_of(file.digest))
    if compressed:
        response.headers["Content-Encoding"] = "gzip"
    return response


async def _write(
    file: BodyFile,
    large: LargePage,
    entry: Callable[[EntryRow], E],
    body: Callable[[list[E], int], wire.Wire],
) -> None:
    async with large.rows() as (total, rows):
        start, end = _around_entries(body([], total))
        before = start
        async for row in rows:
            await asyncio.to_thread(file.write, before + wire.encode(entry(row)))
            before = b","
        # All entries may have been deleted since the sizes were read.
        await asyncio.to_thread(file.end, end if before == b"," else start + end)


def _around_entries(empty: wire.Wire) -> Sequence[bytes]:
    start, name, end = wire.encode(empty).partition(b'"data":[')
    return start + name, end
