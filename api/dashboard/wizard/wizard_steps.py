"""Shared by the wizard's steps: the upload they work on, links, and the choices in their forms."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any, get_args

from aiohttp import web
from aiohttp.typedefs import Handler
from msgspec import Struct

from api.dashboard.dashboard_request import DashboardRequest
from api.dashboard.page_handlers import Form, action, page, redirect, show
from api.dashboard.templates import language_options
from api.rate_limits.limits import import_cost
from read_side.content_types import content_types
from read_side.lookups import languages
from write_side.domain.identity import BASE_LANGUAGE
from write_side.domain.locales import supported_locales
from write_side.domain.refusals import UnknownImport, UnknownUpload
from write_side.domain.workspace import EDIT
from write_side.handlers.reverts import recorded_import
from write_side.imports.check import check
from write_side.imports.encodings import ENCODINGS
from write_side.imports.preview import one_line
from write_side.imports.report import Report, import_report
from write_side.imports.request import ImportRequest, Repeats
from write_side.imports.table import (
    DELIMITERS,
    Choice,
    Table,
    column_letters,
)
from write_side.imports.uploads import Upload, find_upload, keep_preview

SelectOptions = Sequence[tuple[str, str]]
_DETECT = ("", "Detect automatically")
REPEATS = (
    ("", "Choose…"),
    ("skip", "Skip the later rows"),
    ("update", "Later rows update the entry of the first"),
    ("suffix", "Give later rows a slug with a suffix: -2, -3"),
)

UploadPage = Callable[[DashboardRequest, Upload], Awaitable[web.StreamResponse]]
UploadForm = Callable[[DashboardRequest, Upload, Form], Awaitable[web.StreamResponse]]


def upload_page(handler: UploadPage) -> Handler:
    """A page about an upload; once it has been imported, a redirect to the result."""
    return page(EDIT, partial(_on_upload, handler))


def upload_form(handler: UploadForm) -> Handler:
    """Like ``upload_page``, for a form."""
    return action(EDIT, partial(_on_upload, handler))


async def show_step(
    request: DashboardRequest, template: str, address: str, status: int, /, **context: Any
) -> web.StreamResponse:
    """A refused form is shown under this URL, which can be reloaded; the form's own URL accepts
    only POST."""
    response = await show(request, template, status, **context)
    if status != 200:
        response.headers["HX-Push-Url"] = address
    return response


async def check_cost(request: DashboardRequest, table: Table | None = None) -> None:
    """Call this before a file is read, and before this table is checked. Raises
    CostLimitExceeded."""
    limits, caller = request.service.limits, request.caller
    if table is None or not table.rows:
        await limits.check_cost(caller)
    else:
        await limits.reserve_cost(caller, await asyncio.to_thread(import_cost, table))


async def check_file(request: DashboardRequest, upload: Upload, chosen: ImportRequest) -> None:
    """Checks the file and stores its preview. Raises CostLimitExceeded, MappingRefused,
    InvalidEntry."""
    await check_cost(request, upload.table)
    preview = (await check(request.repository, upload.table, chosen)).preview
    await keep_preview(request.repository, request.scope, upload.id, chosen, preview)


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


async def _on_upload(
    handler: Callable[..., Awaitable[web.StreamResponse]], request: DashboardRequest, *form: Form
) -> web.StreamResponse:
    """If the upload disappears meanwhile, it was imported, for example by a double click."""
    if not await is_imported(request):
        try:
            async with request.service.file_turns.working.turn(request.scope.workspace):
                upload = await find_upload(request.repository, request.scope, import_id(request))
                return await handler(request, upload, *form)
        except UnknownUpload:
            if not await is_imported(request):
                raise
    return redirect(result_link(request))


class FormChoices(Struct, frozen=True):
    """The options of the selects: pairs of value and text."""

    types: SelectOptions
    used_languages: SelectOptions
    other_languages: SelectOptions
    encodings: SelectOptions
    delimiters: SelectOptions


async def form_choices(request: DashboardRequest) -> FormChoices:
    types = await content_types(*request.read_model)
    used = dict.fromkeys([BASE_LANGUAGE, *await languages(*request.read_model)])
    return FormChoices(
        types=[(row.slug, row.name) for row in types],
        used_languages=language_options(used),
        other_languages=[pair for pair in _all_languages() if pair[0] not in used],
        encodings=[_DETECT, *ENCODINGS.items()],
        delimiters=[_DETECT, *((name, name.capitalize()) for name in DELIMITERS)],
    )


def reading_choice(form: Mapping[str, str], file_name: str) -> Choice:
    """How to read the file; unknown values mean detection. The form has fields for CSV files and
    for workbooks, labelled as such; those for the other type are ignored."""
    if file_name.lower().endswith(".xlsx"):
        return Choice(sheet=form.get("sheet", "").strip() or None)
    encoding = form.get("encoding", "")
    return Choice(
        encoding=encoding if encoding in ENCODINGS else None,
        delimiter=DELIMITERS.get(form.get("delimiter", "")),
    )


def repeats_choice(form: Mapping[str, str], columns: int) -> tuple[Repeats | None, int | None]:
    """What to do with rows that repeat a slug, and the column that slugs are derived from. Unknown
    values count as not chosen."""
    repeats, key = form.get("repeats"), form.get("key", "")
    return (
        next((choice for choice in get_args(Repeats) if choice == repeats), None),
        int(key) if key in map(str, range(columns)) else None,
    )


def key_columns(headings: Sequence[str]) -> SelectOptions:
    """The columns that slugs can be derived from."""
    named = [one_line(heading) or "no heading" for heading in headings]
    columns = [(str(n), f"Column {column_letters(n)}, {name}") for n, name in enumerate(named)]
    return [("", "Title"), *columns]


@cache
def _all_languages() -> SelectOptions:
    return language_options(supported_locales())
