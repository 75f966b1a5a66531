"""For every request: its id, the error envelope, a log line, metrics and a span (ADR 56)."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Coroutine, Iterator
from pathlib import PurePath
from types import CoroutineType
from typing import Any, TypeAlias
from weakref import WeakSet

import structlog
from aiohttp import web
from aiohttp.typedefs import Handler

from api.context import REQUEST_ID
from api.errors import error_response, status_of
from api.http.large_bodies import WORKSPACE
from api.http.request_counts import COUNTS
from write_side import tracing
from write_side.domain.identity import new_id

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,128}", re.ASCII)
ROUTE = web.RequestKey("route", str)
"""Set once the router has seen the request."""
SECONDS = web.RequestKey("seconds", float)
"""The processing time."""
TRACE = web.RequestKey("trace", dict[str, str])
"""The fields that name the request's span in its log line, which is written after the span."""
_METHODS = frozenset(("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"))
_OTHER = "_OTHER"
LONGEST = 256
"""Characters of a path in a span."""
INTERVAL = 60.0
"""Seconds between two checks for long requests. A request that both find is logged."""
Answer: TypeAlias = Coroutine[Any, Any, web.StreamResponse]
_log = structlog.get_logger("api.request")
_long_log = structlog.get_logger("api.long_requests")


@web.middleware
async def answer_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """The outermost middleware: any exception becomes a response in the error envelope."""
    started = time.perf_counter()
    request[ROUTE] = route_of(request)
    request_id(request)
    try:
        response = await handler(request)
    except Exception as error:
        response = error_response(error)
        if response.status >= 500:
            log_fault(request, error)
    if SECONDS not in request:
        request[SECONDS] = time.perf_counter() - started
    return response


def route_of(request: web.Request) -> str:
    resource = request.match_info.route.resource
    return resource.canonical if resource else "none"


def request_id(request: web.BaseRequest) -> str:
    """The client's id if it is well-formed, else a new one, which the request keeps."""
    try:
        return request[REQUEST_ID]
    except KeyError:
        client_id = request.headers.get("X-Request-Id", "")
        made = request[REQUEST_ID] = client_id if _REQUEST_ID.fullmatch(client_id) else new_id()
        return made


def log_fault(request: web.BaseRequest, fault: BaseException | None) -> None:
    """Logs the traceback under the request's id. If a database is unavailable or full, which fails
    every request, logs one line with the cause instead."""
    if isinstance(fault, Exception) and status_of(fault) == 503:
        _log.warning(
            "unavailable", request_id=request_id(request), fault=repr(fault.__cause__ or fault)
        )
    else:
        _log.error("failed", request_id=request_id(request), exc_info=fault)


def log_request(request: web.BaseRequest, response: web.StreamResponse) -> None:
    """Counts and logs a response that was sent."""
    route = request.get(ROUTE, "none")
    # A request that reached no middleware took no processing time.
    seconds = request.get(SECONDS, 0.0)
    COUNTS.add(request.method, route, response.status, seconds)
    _log.info(
        "request",
        **request.get(TRACE, {}),
        method=request.method,
        path=request.rel_url.raw_path,
        status=response.status,
        milliseconds=round(seconds * 1000, 1),
        request_id=request_id(request),
    )


async def traced(
    request: web.Request, answer: Handler, tracer: tracing.Tracer
) -> web.StreamResponse:
    """Returns the response, and records a span by OpenTelemetry's conventions for HTTP servers. The
    span has no query and no headers, because these may contain content and secrets."""
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


class LongRequests:
    """Logs requests that have had no response for a long time, and where they wait.

    Every wait has its own timeout, so a log line means a defect or slow work, such as the export of
    a large workbook. Nothing is cancelled: a write may already be in the event log.
    ``unanswered``: the requests in progress, by the coroutine that handles each.
    """

    def __init__(self) -> None:
        self.unanswered: dict[Answer, web.Request] = {}

    async def watch(self) -> None:
        """Runs until it is cancelled."""
        found: WeakSet[Answer] = WeakSet()
        while True:
            await asyncio.sleep(INTERVAL)
            found = self._look(found)

    def _look(self, before: WeakSet[Answer]) -> WeakSet[Answer]:
        for answer, request in self.unanswered.items():
            # Skip requests that are still arriving, or whose response has begun, such as streams.
            if answer in before and request.content.is_eof() and not request.writer.output_size:
                _long_log.warning(
                    "a request has no response yet",
                    method=request.method,
                    path=request.rel_url.raw_path,
                    request_id=request_id(request),
                    waits_in=list(_calls(answer)),
                )
        return WeakSet(self.unanswered)


def _calls(awaited: object) -> Iterator[str]:
    """The chain of coroutines that wait for one another, outermost first."""
    while isinstance(awaited, CoroutineType) and (frame := awaited.cr_frame) is not None:
        code = frame.f_code
        yield f"{code.co_qualname} ({PurePath(code.co_filename).name}:{frame.f_lineno})"
        awaited = awaited.cr_await
