"""The headers that every response carries, whatever made it (``on_response_prepare``)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from aiohttp import web

from api.dashboard.policy import add_dashboard_policy
from api.http.cors import add_cors
from api.http.representation import add_cache_control
from api.http.request_log import add_request_id
from api.rate_limits.enforcement import show_limits

Add = Callable[[web.Request, web.StreamResponse], Awaitable[None]]

ADDED: tuple[Add, ...] = (
    add_request_id,
    show_limits,
    add_cors,
    add_cache_control,
    add_dashboard_policy,
)
_FAILED = web.RequestKey("a_promised_header_failed", bool)


async def add_promised_headers(request: web.Request, response: web.StreamResponse) -> None:
    """One that fails does not take the others along. The answer is a 500 then, which goes out with
    what could be added to it."""
    fault: Exception | None = None
    for add in ADDED:
        try:
            await add(request, response)
        except Exception as error:
            fault = error
    if fault is not None and _FAILED not in request:
        request[_FAILED] = True
        raise fault
