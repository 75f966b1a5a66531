"""From a handler to a route: the checks before it, and pages for what they refuse."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qsl

from aiohttp import web
from multidict import MultiDict, MultiDictProxy

from api.dashboard import cookie
from api.dashboard.shell import shell_of
from api.dashboard.templates import rendered
from api.dashboard.visit import (
    ROOT,
    SignedOut,
    Visit,
    check,
    check_token,
    link,
    page_before,
    visit_of,
)
from api.errors import RETRY_AFTER, BadRequest, Busy, Forged, RateLimited, status_of
from api.http.request_log import log_fault, request_id
from api.rest.request_body import receive_body
from write_side.domain.refusals import StaleDecision

Form = MultiDictProxy[str]
Page = Callable[[Visit], Awaitable[web.StreamResponse]]
Action = Callable[[Visit, Form], Awaitable[web.StreamResponse]]
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

VIEW = "content.view"
EDIT = "content.edit"
OPERATE = "service.view"
CSRF = "csrf"
CSRF_HEADER = "X-CSRF-Token"
MOST_FIELDS = 5_000


def page(permission: str, handler: Page, *, active: bool = True) -> Handler:
    """A page that is read. ``active``: not one that refreshes itself, which keeps no session."""

    async def handle(request: web.Request) -> web.StreamResponse:
        visit = visit_of(request, permission, active=active)
        try:
            await check(visit)
            return await handler(visit)
        except Exception as error:
            return await refusal(visit, error)

    return handle


def action(permission: str, handler: Action) -> Handler:
    """A form that changes something: it is read, and its token checked, before the handler."""

    async def checked(visit: Visit) -> web.StreamResponse:
        form = await form_of(visit)
        check_token(visit, form.get(CSRF, ""))
        return await handler(visit, form)

    return page(permission, checked)


def upload(permission: str, handler: Page) -> Handler:
    """A body that the handler reads piece by piece; the token comes in X-CSRF-Token, or the
    handler checks it itself as the first part of a form (``check_token``)."""

    async def checked(visit: Visit) -> web.StreamResponse:
        token = visit.request.headers.get(CSRF_HEADER)
        if token is not None:
            check_token(visit, token)
        return await handler(visit)

    return page(permission, checked)


async def form_of(visit: Visit) -> Form:
    """What an ordinary form has sent. Raises BadRequest."""
    try:
        fields = parse_qsl(
            (await receive_body(visit)).decode(),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=MOST_FIELDS,
        )
    except ValueError:
        raise BadRequest("This form cannot be read") from None
    return MultiDictProxy(MultiDict(fields))


async def show(visit: Visit, template: str, code: int = 200, **context: Any) -> web.Response:
    """A page in the frame that all have; the template finds ``visit`` and ``shell`` too."""
    shell = await shell_of(visit)
    return html(rendered(template, visit=visit, shell=shell, **context), code)


def html(text: str, status: int = 200) -> web.Response:
    return web.Response(
        status=status,
        body=text.encode("utf-8", "replace"),
        content_type="text/html",
        charset="utf-8",
    )


def see(address: str) -> web.Response:
    """Look there next: the answer to a form, so that reloading does not send it again."""
    return web.Response(status=303, headers={"Location": address})


async def refusal(visit: Visit, error: Exception) -> web.StreamResponse:
    """A page that says what went wrong and what to do."""
    if isinstance(error, SignedOut):
        return _to_sign_in(visit)
    status = error.status if isinstance(error, web.HTTPException) else status_of(error)
    if status >= 500:
        log_fault(visit.request, error)
    may_be_told = status < 500 or isinstance(error, (Busy, StaleDecision))
    said = str(error) if may_be_told and not isinstance(error, web.HTTPException) else ""
    response = await _refused(visit, status, said, is_forged=isinstance(error, Forged))
    if isinstance(error, RateLimited):
        response.headers["Retry-After"] = str(error.wait)
    if status == 503:
        response.headers["Retry-After"] = RETRY_AFTER
    return response


async def _refused(visit: Visit, status: int, said: str, *, is_forged: bool) -> web.Response:
    context = {
        "status": status,
        "said": said,
        "request_id": request_id(visit.request),
        "stale_form": page_before(visit.request) if is_forged else None,
    }
    if visit.caller is not None:
        return await show(visit, "refused.html", status, **context)
    return html(rendered("refused_apart.html", **context), status)


def _to_sign_in(visit: Visit) -> web.StreamResponse:
    request = visit.request
    wanted = request.rel_url.raw_path_qs if request.method == "GET" else ""
    had_one = "1" if cookie.token_of(request) else ""
    where = link("sign-in", next="" if wanted == ROOT else wanted, ended=had_one)
    if visit.is_partial:
        return web.Response(status=204, headers={"HX-Redirect": where})
    return see(where)


async def no_page(_visit: Visit) -> web.StreamResponse:
    raise web.HTTPNotFound
