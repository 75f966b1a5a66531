"""Signing in with an API key, and signing out."""

from __future__ import annotations

from aiohttp import web

from api.dashboard.dashboard_request import DashboardRequest, NoSession, check_session, link
from api.dashboard.layout import start_address
from api.dashboard.page_handlers import Form, html, read_form, redirect
from api.dashboard.security import (
    check_origin,
    cookie_token,
    delete_cookie,
    is_dashboard_address,
    set_cookie,
)
from api.dashboard.templates import render
from api.rest.request_checks import check_address_limit, check_sign_in_limit

MAX_FORM = 16 * 1024
"""Bytes of the form, which has a key and a URL. Clients send it without a key of their own."""
NO_KEY = "Enter an API key."
UNKNOWN = "This key does not exist, has expired or was revoked. Check that you copied all of it."
ENDED = "Your session has ended, or its key has expired or was revoked. Please sign in again."


async def show_form(request: DashboardRequest) -> web.StreamResponse:
    """The form; for a user who is already signed in, a redirect to the first page."""
    await check_address_limit(request.request)
    try:
        await check_session(request)
    except NoSession:
        ended = ENDED if "ended" in request.query else ""
        return await _form(request.query.get("next", ""), ended=ended)
    return redirect(start_address(request.caller))


async def sign_in(request: DashboardRequest) -> web.StreamResponse:
    """Always begins a new session, which prevents session fixation."""
    await check_address_limit(request.request)
    check_origin(request.request)
    await check_sign_in_limit(request.request)
    form = await read_form(request, MAX_FORM)
    secret, following = form.get("key", "").strip(), form.get("next", "")
    if not secret:
        return await _form(following, error=NO_KEY)
    caller = await request.service.access.caller(secret)
    if caller is None:
        return await _form(following, error=UNKNOWN)
    sessions = request.sessions
    if earlier := cookie_token(request.request):
        await sessions.end(earlier)
    address = following if is_dashboard_address(following) else start_address(caller)
    response = redirect(address)
    set_cookie(request.request, response, await sessions.begin(caller.key_id))
    return response


async def sign_out(request: DashboardRequest, _form: Form) -> web.StreamResponse:
    await request.sessions.end(request.session)
    response = redirect(link("sign-in"))
    delete_cookie(request.request, response)
    return response


async def _form(following: str, *, ended: str = "", error: str = "") -> web.Response:
    """``following``: the page to show after sign-in."""
    following = following if is_dashboard_address(following) else ""
    page = await render("sign_in.html", next=following, ended=ended, error=error)
    return html(page, 403 if error else 200)
