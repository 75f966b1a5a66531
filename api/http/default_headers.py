"""The headers of every response (``on_response_prepare``)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from aiohttp import web

from api.dashboard.security import add_security_headers
from api.http.cors import add_cors
from api.http.representation import add_cache_control
from api.http.request_log import add_request_id
from api.rate_limits.enforcement import add_rate_limits

AddHeaders = Callable[[web.Request, web.StreamResponse], Awaitable[None]]

ADDED: tuple[AddHeaders, ...] = (
    add_request_id,
    add_rate_limits,
    add_cors,
    add_cache_control,
    add_security_headers,
)
_FAILED = web.RequestKey("default_headers_failed", bool)


async def add_default_headers(request: web.Request, response: web.StreamResponse) -> None:
    """If one of them fails, the others are added, and the response becomes a 500 with those."""
    fault: Exception | None = None
    for add in ADDED:
        try:
            await add(request, response)
        except Exception as error:
            fault = error
    if fault is not None and _FAILED not in request:
        request[_FAILED] = True
        raise fault
