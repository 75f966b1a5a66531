"""Signing in with an API key, and out again."""

from __future__ import annotations

from aiohttp import web

from api.dashboard import cookie
from api.dashboard.pages import Form, form_of, html, refusal, see
from api.dashboard.shell import start_of
from api.dashboard.templates import rendered
from api.dashboard.visit import (
    SESSIONS,
    SignedOut,
    Visit,
    check_origin,
    check_session,
    is_ours,
    link,
    visit_of,
)
from api.rate_limits.enforcement import check_address_limit, check_sign_in_limit

NO_KEY = "Enter an API key."
UNKNOWN = "This key is not known, or it was revoked. Check that you have copied all of it."
ENDED = "Your session has ended, or its key was revoked. Please sign in again."


async def ask(request: web.Request) -> web.StreamResponse:
    """The form; for somebody who is signed in already, the first page."""
    visit = visit_of(request, permission="")
    try:
        await check_address_limit(visit)
        if await _is_signed_in(visit):
            return see(link(start_of(visit.known_caller)))
        ended = ENDED if "ended" in request.query else ""
        return _form(request.query.get("next", ""), ended=ended)
    except Exception as error:
        return await refusal(visit, error)


async def sign_in(request: web.Request) -> web.StreamResponse:
    """A new session, whatever there was before: nobody can have prepared it."""
    visit = visit_of(request, permission="")
    try:
        await check_address_limit(visit)
        await check_origin(visit)
        await check_sign_in_limit(visit)
        return await _signed_in(visit, await form_of(visit))
    except Exception as error:
        return await refusal(visit, error)


async def sign_out(visit: Visit, _form: Form) -> web.StreamResponse:
    await visit.request.app[SESSIONS].end(visit.session)
    response = see(link("sign-in"))
    cookie.take(visit.request, response)
    return response


async def _signed_in(visit: Visit, form: Form) -> web.StreamResponse:
    secret, wanted = form.get("key", "").strip(), form.get("next", "")
    if not secret:
        return _form(wanted, error=NO_KEY)
    caller = await visit.service.access.caller(secret)
    if caller is None:
        return _form(wanted, error=UNKNOWN)
    sessions = visit.request.app[SESSIONS]
    if before := cookie.token_of(visit.request):
        await sessions.end(before)
    response = see(wanted if is_ours(wanted) else link(start_of(caller)))
    cookie.give(visit.request, response, await sessions.begin(caller.key_id))
    return response


async def _is_signed_in(visit: Visit) -> bool:
    try:
        await check_session(visit)
    except SignedOut:
        return False
    return True


def _form(wanted: str, *, ended: str = "", error: str = "") -> web.Response:
    page = rendered(
        "sign_in.html", next=wanted if is_ours(wanted) else "", ended=ended, error=error
    )
    return html(page, 403 if error else 200)
