"""An export as the response to a request."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Literal

from aiohttp import web

from api.context import Call
from api.export.table import csv_chunks
from api.export.xlsx_file import write_xlsx
from api.http.request_log import log_fault
from read_side.export import LIMIT, Export, export
from read_side.paging import Filters
from write_side.domain.identity import Scope

Kind = Literal["csv", "xlsx"]

CONTENT_TYPES: dict[Kind, str] = {
    "csv": "text/csv; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
CHUNK = 256 * 1024


async def export_response(call: Call, filters: Filters, kind: Kind) -> web.StreamResponse:
    """Sends the newest entries that match the filters; the caller has checked permissions.

    Raises TypeNotFound and ReadModelUnavailable before anything is sent. A later fault aborts the
    connection, so the client notices that the file is incomplete.
    """
    request, limits = call.request, call.service.limits
    charge = partial(limits.charge_bytes, call.known_caller)
    wanted = await export(call.service.read_model, call.scope, filters)
    response = web.StreamResponse(headers=_headers(wanted, call.scope, kind))
    if request.method == "HEAD":
        return response
    if kind == "csv":
        await _send(request, response, csv_chunks(wanted), charge)
        return response
    with tempfile.TemporaryDirectory(prefix="contentlog-export-") as folder:
        path = Path(folder) / "export.xlsx"
        began = time.monotonic()
        is_written = await write_xlsx(wanted, path, lambda: not _is_disconnected(request))
        limits.charge_seconds(call.known_caller, time.monotonic() - began)
        if is_written:
            response.content_length = path.stat().st_size
            await _send(request, response, _chunks(path), charge)
    return response


async def _send(
    request: web.Request,
    response: web.StreamResponse,
    chunks: AsyncGenerator[bytes, None],
    charge: Callable[[int], None],
) -> None:
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
        while chunk := await asyncio.to_thread(file.read, CHUNK):
            yield chunk


def _headers(wanted: Export, scope: Scope, kind: Kind) -> dict[str, str]:
    name = "-".join([wanted.content_type.slug, scope.environment, f"{datetime.now(UTC):%Y-%m-%d}"])
    return {
        "Content-Type": CONTENT_TYPES[kind],
        "Content-Disposition": f'attachment; filename="{name}.{kind}"',
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
        "X-Content-Exported": str(min(wanted.total, LIMIT)),
        "X-Content-Total": str(wanted.total),
    }
