"""An export as the response to a request."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Literal

from aiohttp import web

from api.context import Call
from api.export.table import csv_chunks
from api.export.xlsx_file import write_xlsx
from api.http.large_bodies import LARGE, Spool, temporary_space
from api.http.request_log import log_fault
from read_side.export import LIMIT, Export, export
from read_side.paging import Filters
from write_side.domain.identity import Scope

Kind = Literal["csv", "xlsx"]

CONTENT_TYPES: dict[Kind, str] = {
    "csv": "text/csv; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}


async def export_response(call: Call, filters: Filters, kind: Kind) -> web.StreamResponse:
    """Sends the newest entries that match the filters; the caller has checked permissions.

    Raises TypeNotFound, ReadModelUnavailable, Overloaded, Busy and NoTemporarySpace before anything
    is sent. A later fault aborts the connection, so the client notices that the file is incomplete.
    """
    turns, workspace = call.service.file_turns, call.scope.workspace
    async with turns.sending.turn(workspace):
        async with turns.exporting.turn(workspace):
            source = await export(call.service.read_model, call.scope, filters)
        response = web.StreamResponse(headers=_headers(source, call.scope, kind))
        if call.request.method == "HEAD":
            return response
        if kind == "csv":
            await _send(call, response, _pages(call, csv_chunks(source)))
        else:
            with temporary_space():
                await _send_workbook(call, response, source)
    return response


async def _pages(call: Call, chunks: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """Each chunk is made in a turn. After the turn, it is sent from a file."""
    workspace, is_first = call.scope.workspace, True
    async with aclosing(chunks):
        while True:
            spool = Spool(call.service.large_bodies, workspace)
            try:
                # Once begun, a file is completed, however long it waits for its turns.
                async with call.service.file_turns.exporting.turn(workspace, patient=not is_first):
                    chunk = await anext(chunks, b"")
                if not chunk:
                    return
                await spool.write(chunk, patient=not is_first)
                is_first = False
                await spool.rewind()
                while piece := await spool.read(LARGE):
                    yield piece
            finally:
                spool.close()


async def _send_workbook(call: Call, response: web.StreamResponse, source: Export) -> None:
    """A workbook is written in one turn, because no part of it can be sent before its end."""
    limits, workspace = call.service.limits, call.scope.workspace
    with tempfile.TemporaryDirectory(prefix="contentlog-export-") as folder:
        path = Path(folder) / "export.xlsx"
        async with call.service.file_turns.exporting.turn(workspace):
            began = time.monotonic()
            is_written = await write_xlsx(source, path, lambda: not _is_disconnected(call.request))
            limits.charge_seconds(call.caller, time.monotonic() - began)
        if is_written:
            response.content_length = size = path.stat().st_size
            await call.service.large_bodies.reserve(call.request, workspace, size)
            await _send(call, response, _chunks(path))


async def _send(
    call: Call, response: web.StreamResponse, chunks: AsyncGenerator[bytes, None]
) -> None:
    request = call.request
    charge = partial(call.service.limits.charge_bytes, call.caller)
    async with aclosing(chunks):
        first = await anext(chunks)
        try:
            await response.prepare(request)
            charge(len(first))
            await response.write(first)
            async for chunk in chunks:
                charge(len(chunk))
                await response.write(chunk)
            await response.write_eof()
        except ConnectionError:
            pass  # the client has disconnected
        except Exception as error:
            log_fault(request, error)
            if request.transport is not None:
                request.transport.abort()


def _is_disconnected(request: web.Request) -> bool:
    return request.transport is None or request.transport.is_closing()


async def _chunks(path: Path) -> AsyncGenerator[bytes, None]:
    with path.open("rb") as file:
        while chunk := await asyncio.to_thread(file.read, LARGE):
            yield chunk


def _headers(source: Export, scope: Scope, kind: Kind) -> dict[str, str]:
    name = "-".join([source.content_type.slug, scope.environment, f"{datetime.now(UTC):%Y-%m-%d}"])
    return {
        "Content-Type": CONTENT_TYPES[kind],
        "Content-Disposition": f'attachment; filename="{name}.{kind}"',
        "X-Content-Type-Options": "nosniff",
        "X-Content-Exported": str(min(source.total, LIMIT)),
        "X-Content-Total": str(source.total),
    }
