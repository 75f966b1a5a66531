"""Wraps page handlers into route handlers that run the checks and show error pages."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qsl

from aiohttp import web
from aiohttp.typedefs import Handler
from multidict import MultiDict, MultiDictProxy

from api.context import SERVICE
from api.dashboard.dashboard_request import ANONYMOUS, DashboardRequest, NoSession, check, link
from api.dashboard.layout import layout_of
from api.dashboard.security import check_csrf_token, cookie_token, referring_page
from api.dashboard.templates import render
from api.errors import EXPLAINED, BadRequest, Busy, ForgedRequest, headers_of, status_of
from api.http.default_headers import ROOT
from api.http.request_log import log_fault
from api.rest.request_body import receive_body
from write_side.domain.refusals import StaleDecision
from write_side.fair_queue import Overloaded

Form = MultiDictProxy[str]
Page = Callable[[DashboardRequest], Awaitable[web.StreamResponse]]
Action = Callable[[DashboardRequest, Form], Awaitable[web.StreamResponse]]

CSRF = "csrf"
REFRESH_HEADER = "X-Refresh"
MAX_FIELDS = 5_000
MAX_FORM = 128 * 1024
"""Bytes. Decoding a percent escape takes 100 ns and blocks the event loop."""
_DAMAGED = re.compile(rb"%(?![0-9a-fA-F]{2})")


def public(handler: Page) -> Handler:
    """A page without checks; exceptions of the handler become error pages."""

    async def handle(http_request: web.Request) -> web.StreamResponse:
        request = DashboardRequest(http_request, http_request.app[SERVICE], ANONYMOUS)
        try:
            return await handler(request)
        except Exception as error:
            return await error_page(request, error)

    return handle


def page(permission: str, handler: Page, *, active: bool = True) -> Handler:
    """A page that passes all checks. ``active``: whether requesting it keeps the session alive. A
    page that loads itself again does not."""

    async def handle(request: DashboardRequest) -> web.StreamResponse:
        by_user = REFRESH_HEADER not in request.request.headers
        await check(request, permission, active=active and by_user)
        return await handler(request)

    return public(handle)


def action(permission: str, handler: Action) -> Handler:
    """A form that changes something; its CSRF token is checked before the handler is called."""

    async def handle(request: DashboardRequest) -> web.StreamResponse:
        form = await read_form(request)
        check_csrf_token(request.session, form.get(CSRF, ""))
        return await handler(request, form)

    return page(permission, handle)


async def read_form(request: DashboardRequest, most: int = MAX_FORM) -> Form:
    """The fields of a URL-encoded form of up to ``most`` bytes. Raises BadRequest."""
    body = await receive_body(request, most)
    try:
        # Browsers never send these, and each takes longer to decode than a plain character.
        if _DAMAGED.search(body):
            raise ValueError
        fields = parse_qsl(
            body.decode(),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=MAX_FIELDS,
        )
    except ValueError:
        raise BadRequest("This form cannot be read") from None
    return MultiDictProxy(MultiDict(fields))


async def show(
    request: DashboardRequest, template: str, status: int = 200, /, **context: Any
) -> web.Response:
    """A page in the common layout; the template also gets ``request`` and ``layout``."""
    layout = await layout_of(request)
    return html(await render(template, request=request, layout=layout, **context), status)


def html(text: str, status: int = 200) -> web.Response:
    body = text.encode("utf-8", "replace")
    return web.Response(status=status, body=body, content_type="text/html", charset="utf-8")


def redirect(address: str) -> web.Response:
    """303, so that reloading the page does not send the form again."""
    return web.Response(status=303, headers={"Location": address})


async def error_page(request: DashboardRequest, error: Exception) -> web.StreamResponse:
    """A page that says what is wrong and what to do."""
    if isinstance(error, NoSession):
        return _to_sign_in(request)
    status = status_of(error)
    if status >= 500:
        log_fault(request.request, error)
    is_public = status < 500 or isinstance(error, (*EXPLAINED, Busy, Overloaded, StaleDecision))
    context = {
        "status": status,
        "message": str(error) if is_public and not isinstance(error, web.HTTPException) else "",
        "request_id": request.request_id,
        "is_stale": isinstance(error, ForgedRequest),
        "form": referring_page(request.request) if request.request.method == "POST" else "",
    }
    if request.caller is ANONYMOUS:
        response = html(await render("error_signed_out.html", **context), status)
    else:
        response = await show(request, "error.html", status, **context)
    response.headers.update(headers_of(error))
    return response


def _to_sign_in(request: DashboardRequest) -> web.StreamResponse:
    http_request = request.request
    is_page = http_request.method == "GET"
    requested = http_request.rel_url.raw_path_qs if is_page else referring_page(http_request)
    ended = "1" if cookie_token(http_request) else ""
    address = link("sign-in", next="" if requested == ROOT else requested, ended=ended)
    if "HX-Request" in http_request.headers:
        return web.Response(status=204, headers={"HX-Redirect": address})
    return redirect(address)
