"""Shared by the wizard's steps: the upload they work on, and links."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from aiohttp import web

from api.dashboard.dashboard_request import DashboardRequest
from api.dashboard.page_handlers import Form, Handler, action, page, redirect, show
from api.http.file_turns import WORKING
from api.rate_limits.limits import import_cost
from write_side.domain.refusals import UnknownImport, UnknownUpload
from write_side.domain.workspace import EDIT
from write_side.handlers.reverts import recorded_import
from write_side.imports.report import Report, import_report
from write_side.imports.table import FileRefused, Table, TooManyRows
from write_side.imports.uploads import Upload, find_upload

STEPS = ("Upload", "Columns", "Preview", "Result")

UploadPage = Callable[[DashboardRequest, Upload], Awaitable[web.StreamResponse]]
UploadForm = Callable[[DashboardRequest, Upload, Form], Awaitable[web.StreamResponse]]


def upload_page(handler: UploadPage) -> Handler:
    """A page about an upload; once it has been imported, a redirect to the result."""
    return page(EDIT, partial(_on_upload, handler))


def upload_form(handler: UploadForm) -> Handler:
    """Like ``upload_page``, for a form."""
    return action(EDIT, partial(_on_upload, handler))


def redirect_to(step: str) -> Handler:
    """For a reload of a form's URL: redirects to the page with the form."""

    async def opened(request: DashboardRequest, upload: Upload) -> web.StreamResponse:
        return redirect(request.link("imports", upload.id, step))

    return upload_page(opened)


async def show_step(
    request: DashboardRequest, template: str, address: str, status: int, /, **context: Any
) -> web.StreamResponse:
    """A refused form is shown under this URL, which can be reloaded; the form's own URL accepts
    only POST."""
    response = await show(request, template, status, steps=STEPS, **context)
    if status != 200:
        response.headers["HX-Push-Url"] = address
    return response


async def check_cost(request: DashboardRequest, table: Table | None = None) -> None:
    """Call this before a file is read, and before this table is checked. Raises
    CostLimitExceeded."""
    limits, caller = request.service.limits, request.known_caller
    if table is None or not table.rows:
        await limits.check_cost(caller)
    else:
        await limits.reserve_cost(caller, await asyncio.to_thread(import_cost, table))


def file_problem(refused: FileRefused) -> str:
    is_long = isinstance(refused, TooManyRows)
    return f"{refused}: split it into several files" if is_long else str(refused)


def import_id(request: DashboardRequest) -> str:
    """The id in the URL; an upload and its import have the same id."""
    return request.request.match_info["id"]


def result_link(request: DashboardRequest) -> str:
    return request.link("imports", import_id(request))


async def requested_report(request: DashboardRequest) -> Report:
    """Raises UnknownImport, also for an import of another workspace or environment."""
    return await import_report(request.repository, request.scope, import_id(request))


async def is_imported(request: DashboardRequest) -> bool:
    try:
        await recorded_import(request.repository, request.scope, import_id(request))
    except UnknownImport:
        return False
    return True


async def wait_until_readable(request: DashboardRequest, position: int) -> None:
    """Waits briefly for the read model; a slightly stale page does no harm."""
    if position:
        service = request.service
        await service.checkpoint.wait(position, service.settings.read_your_writes)


async def _on_upload(
    handler: Callable[..., Awaitable[web.StreamResponse]], request: DashboardRequest, *form: Form
) -> web.StreamResponse:
    """If the upload disappears meanwhile, it was imported, for example by a double click."""
    if not await is_imported(request):
        try:
            async with request.request.app[WORKING].turn(request.scope.workspace):
                upload = await find_upload(request.repository, request.scope, import_id(request))
                return await handler(request, upload, *form)
        except UnknownUpload:
            if not await is_imported(request):
                raise
    return redirect(result_link(request))
