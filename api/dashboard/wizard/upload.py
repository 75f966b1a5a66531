"""The first step: a file, the content type that it is for, and the language of its entries."""

from __future__ import annotations

from aiohttp import web

from api.dashboard.pages import see, show
from api.dashboard.visit import Visit
from api.dashboard.wizard.choices import choices, reading_of
from api.dashboard.wizard.form import Sent, sent_form
from api.dashboard.wizard.steps import STEPS, shown_at
from write_side.domain.identity import BASE_LANGUAGE
from write_side.domain.locales import supported_locales
from write_side.imports.table import LIMITS, FileRefused
from write_side.imports.uploads import keep_upload


async def ask(visit: Visit) -> web.StreamResponse:
    return await _show(visit, Sent(dict(visit.request.query)), 200)


async def receive(visit: Visit) -> web.StreamResponse:
    sent = await sent_form(visit)
    problem = sent.problem or await _wrong(visit, sent)
    if problem:
        sent.problem = problem
        return await _refuse(visit, sent, sent.status)
    try:
        upload = await keep_upload(
            visit.service.repository, visit.scope, sent.name, sent.document, reading_of(sent.fields)
        )
    except FileRefused as refused:
        sent.problem = str(refused)
        return await _refuse(visit, sent, 422)
    chosen = {"type": sent.text("type"), "language": _language(sent)}
    return see(visit.link("imports", upload.id, "columns", **chosen))


async def _wrong(visit: Visit, sent: Sent) -> str:
    """With what was chosen beside the file; their selects offer nothing that is."""
    if _language(sent) not in supported_locales():
        return "Choose a language from the list"
    if not (await choices(visit)).knows_type(sent.text("type")):
        return "Choose the content type that the entries will have"
    return ""


def _language(sent: Sent) -> str:
    return sent.text("language") or BASE_LANGUAGE


async def _refuse(visit: Visit, sent: Sent, code: int) -> web.StreamResponse:
    chosen = {"type": sent.text("type"), "language": sent.text("language")}
    where = visit.link("imports", "new", **chosen)
    return shown_at(where, await _show(visit, sent, code))


async def _show(visit: Visit, sent: Sent, code: int) -> web.StreamResponse:
    return await show(
        visit,
        "wizard/upload.html",
        code,
        steps=STEPS,
        sent=sent,
        language=_language(sent),
        choices=await choices(visit),
        most_rows=LIMITS.rows,
        most_bytes=LIMITS.upload_bytes,
    )
