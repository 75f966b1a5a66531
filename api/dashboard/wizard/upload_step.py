"""The first step: a file, its content type and the language of its entries."""

from __future__ import annotations

from aiohttp import web

from api.dashboard.dashboard_request import DashboardRequest
from api.dashboard.page_handlers import redirect
from api.dashboard.wizard.form_choices import form_choices, reading_choice
from api.dashboard.wizard.multipart_form import FileForm, read_file_form
from api.dashboard.wizard.wizard_steps import RECEIVING, show_step
from write_side.domain.identity import BASE_LANGUAGE
from write_side.domain.locales import supported_locales
from write_side.imports.table import LIMITS, FileRefused
from write_side.imports.uploads import keep_upload


async def show_upload(request: DashboardRequest) -> web.StreamResponse:
    return await _show(request, FileForm(dict(request.query)), 200)


async def receive_upload(request: DashboardRequest) -> web.StreamResponse:
    """Nothing of the body is read before a slot is free."""
    async with request.request.app[RECEIVING].slot(request.scope.workspace):
        form = await read_file_form(request)
        form.problem = form.problem or await _problem(request, form)
        if form.problem:
            return await _show(request, form, form.status)
        try:
            upload = await keep_upload(
                request.repository,
                request.scope,
                form.name,
                form.document,
                reading_choice(form.fields),
            )
        except FileRefused as refused:
            form.problem = str(refused)
            return await _show(request, form, 422)
        chosen = {"type": form.text("type"), "language": _language(form)}
        return redirect(request.link("imports", upload.id, "columns", **chosen))


async def _problem(request: DashboardRequest, form: FileForm) -> str:
    """What is wrong with the fields next to the file."""
    if _language(form) not in supported_locales():
        return "Choose a language from the list"
    if form.text("type") not in dict((await form_choices(request)).types):
        return "Choose a content type for the entries"
    return ""


def _language(form: FileForm) -> str:
    return form.text("language") or BASE_LANGUAGE


async def _show(request: DashboardRequest, form: FileForm, status: int) -> web.StreamResponse:
    chosen = {"type": form.text("type"), "language": form.text("language")}
    return await show_step(
        request,
        "wizard/upload.html",
        request.link("imports", "new", **chosen),
        status,
        form=form,
        language=_language(form),
        choices=await form_choices(request),
        max_rows=LIMITS.rows,
        max_bytes=LIMITS.upload_bytes,
    )
