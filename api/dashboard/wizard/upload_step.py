"""The first step: a file, its content type and the language of its entries."""

from __future__ import annotations

from functools import partial

from aiohttp import web

from api.dashboard.dashboard_request import DashboardRequest
from api.dashboard.page_handlers import CSRF, redirect
from api.dashboard.security import check_csrf_token
from api.dashboard.wizard.wizard_steps import (
    check_cost,
    form_choices,
    reading_choice,
    show_step,
)
from api.errors import FileTooLarge
from api.imports.multipart_form import FileForm, FormReader
from write_side.domain.identity import BASE_LANGUAGE
from write_side.domain.locales import check_locale
from write_side.domain.refusals import InvalidEntry
from write_side.imports.table import LIMITS, FileRefused
from write_side.imports.uploads import keep_upload

MAX_FIELDS = 10
_NO_FILE = "Choose a file"


async def show_upload(request: DashboardRequest) -> web.StreamResponse:
    return await _show(request, FileForm(dict(request.query)))


async def receive_upload(request: DashboardRequest) -> web.StreamResponse:
    """Reads the form as a stream, and checks its CSRF token itself."""
    reader, problem, status = _CheckedReader(request), "", 422
    await check_cost(request)
    try:
        await reader.read()
    except FileTooLarge as refused:
        problem, status = f"{refused}. Split the file", 413
    form = reader.form
    problem = (problem or await _problem(request, form)) if form.name else _NO_FILE
    if problem:
        return await _show(request, form, problem, status)
    try:
        async with request.service.file_turns.storing.turn(request.scope.workspace):
            upload = await keep_upload(
                request.repository,
                request.scope,
                form.name,
                await form.document(),
                reading_choice(form.fields, form.name),
                charge=partial(request.service.limits.charge_seconds, request.caller),
            )
    except FileRefused as refused:
        return await _show(request, form, str(refused), 422)
    chosen = {"type": form.text("type"), "language": _language(form)}
    return redirect(request.link("imports", upload.id, "columns", **chosen))


async def _problem(request: DashboardRequest, form: FileForm) -> str:
    """The error in the fields other than the file."""
    try:
        check_locale(_language(form), "language")
    except InvalidEntry as refused:
        return str(refused)
    if form.text("type") not in dict((await form_choices(request)).types):
        return "Choose a content type for the entries"
    return ""


def _language(form: FileForm) -> str:
    return form.text("language") or BASE_LANGUAGE


async def _show(
    request: DashboardRequest, form: FileForm, problem: str = "", status: int = 200
) -> web.StreamResponse:
    """``problem``: why the file cannot be used."""
    chosen = {"type": form.text("type"), "language": form.text("language")}
    return await show_step(
        request,
        "wizard/upload.html",
        request.link("imports", "new", **chosen),
        status,
        form=form,
        problem=problem,
        language=_language(form),
        choices=await form_choices(request),
        max_rows=LIMITS.rows,
        max_bytes=LIMITS.upload_bytes,
    )


class _CheckedReader(FormReader):
    """The first part must be a valid token; otherwise nothing after it is read. Raises
    ForgedRequest."""

    def __init__(self, request: DashboardRequest) -> None:
        super().__init__(request, MAX_FIELDS)
        self._session = request.session
        self._is_checked = False

    def check_part(self, name: str) -> None:
        if not self._is_checked and name != CSRF:
            check_csrf_token(self._session, "")

    def check_field(self, name: str, text: str) -> None:
        if name == CSRF:
            check_csrf_token(self._session, text)
            self._is_checked = True
