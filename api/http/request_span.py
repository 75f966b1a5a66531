"""The span of a request (ADR 56), by OpenTelemetry's conventions for HTTP servers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from aiohttp import web

from api.http.large_bodies import WORKSPACE
from api.http.request_log import ROUTE, TRACE, request_id
from write_side import tracing

_METHODS = frozenset(("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"))
_OTHER = "_OTHER"
LONGEST = 256
"""Characters of a path."""


async def traced(
    request: web.Request, answer: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """The response, with a span around its making. The span has no query and no headers, because
    these may have content and secrets in them."""
    tracer = tracing.tracer()
    assert tracer is not None
    method = request.method if request.method in _METHODS else _OTHER
    about: tracing.Attributes = {
        "http.request.method": method,
        "url.path": request.rel_url.raw_path[:LONGEST],
        "url.scheme": request.scheme,
        "network.protocol.version": f"{request.version.major}.{request.version.minor}",
        "contentlog.request_id": request_id(request),
    }
    name = "HTTP" if method == _OTHER else method
    with tracer.received(request.headers.get("traceparent", ""), name, about) as span:
        if span.context is not None:
            request[TRACE] = tracing.fields(span.context)
        response = await answer(request)
        route = request.get(ROUTE, "none")
        if route != "none":
            span.rename(f"{name} {route}")
            span.set("http.route", route)
        if workspace := request.get(WORKSPACE):
            span.set("contentlog.workspace", workspace)
        span.set("http.response.status_code", response.status)
        if response.status >= 500:
            span.fail(str(response.status))
        return response
