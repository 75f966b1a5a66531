"""The shortest path for a read that was answered before and is cached (ADR 39).

A response that goes the ordinary way, through the router, the checks and the middlewares, leaves
its head with the cached response, without the headers that differ from request to request. While
it is cached, the same request of the same caller needs only what can have changed since: whether
the key is still good, the limits, and whether the response is current.

All other requests, and those that would have to wait or be refused, go the ordinary way.
"""

from __future__ import annotations

import time
from email.utils import formatdate
from functools import lru_cache

from aiohttp import HttpVersion11, web
from aiohttp.abc import AbstractStreamWriter

from api.auth.keys import secret_of
from api.context import LIMIT_STATUS, Service
from api.http.client_address import is_https
from api.http.large_bodies import LARGE
from api.http.representation import takes_gzip
from api.http.request_counts import COUNTS
from api.http.request_log import ROUTE, SECONDS, request_id
from api.rest.cached_response import CACHE
from api.rest.response_cache import HITS, ReadResponse, Ready, Target, Variant
from api.rest.tokens import POSITION
from write_side import tracing

OF_EACH_REQUEST = frozenset(
    ("Date", "X-Request-Id", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")
)
LONGEST = 1024
"""Characters of a request that is remembered."""


class RepeatedReads:
    def __init__(self, service: Service) -> None:
        self._service = service

    def answer(self, request: web.Request) -> ReadyResponse | None:
        """None, with nothing counted, for a request that has to go the ordinary way."""
        started = time.perf_counter()
        if not _is_plain_read(request):
            return None
        service, target = self._service, _target(request)
        if not service.responses.is_repeated(target):
            return None
        caller = service.access.caller_now(secret_of(request.headers))
        if caller is None:
            return None
        cached = service.responses.find_repeated((caller, target))
        ready = cached.ready.get(self._variant(request)) if cached else None
        if cached is None or ready is None:
            return None
        size, bodies = len(ready.body), service.large_bodies
        if size > LARGE and not bodies.has_room(caller.workspace, size):
            return None
        status = service.limits.count_now(request, caller)
        if status is None:
            return None
        if size > LARGE:
            bodies.hold(request, caller.workspace, size)
        COUNTS.others[HITS] += 1
        tracing.current().set(CACHE, "hit")
        service.limits.charge_bytes(caller, len(cached.body))
        request[LIMIT_STATUS] = status
        lines = (
            f"Date: {_date(int(time.time()))}\r\n"
            f"X-Request-Id: {request_id(request)}\r\n"
            f"X-RateLimit-Limit: {status.limit}\r\n"
            f"X-RateLimit-Remaining: {status.remaining}\r\n"
            f"X-RateLimit-Reset: {status.reset}\r\n"
        )
        request[ROUTE] = ready.route
        request[SECONDS] = time.perf_counter() - started
        return ReadyResponse(ready, lines.encode())

    def _variant(self, request: web.Request) -> Variant:
        """The variant of the response: it determines the head, and the encoding of the body."""
        trusted = self._service.settings.trusted_proxies
        return takes_gzip(request), is_https(request, trusted)

    async def remember(self, request: web.Request, response: web.StreamResponse) -> None:
        """Called when the response has all its headers."""
        if not (
            isinstance(response, ReadResponse)
            and response.is_repeated
            and response.status == 200
            and _is_plain_read(request)
        ):
            return
        target = _target(request)
        if sum(len(text or "") for text in target) > LONGEST:
            return
        cached = response.cached
        body = cached.compressed if "Content-Encoding" in response.headers else cached.body
        assert body is not None
        ready = Ready(request[ROUTE], _head(response), body)
        key = (response.caller, target)
        self._service.responses.remember(cached, key, self._variant(request), ready)


REPEATED_READS = web.AppKey("repeated_reads", RepeatedReads)


class ReadyResponse(web.StreamResponse):
    """Head and body in one write. ``lines``: the headers of this request."""

    def __init__(self, ready: Ready, lines: bytes) -> None:
        super().__init__()
        self.ready = ready
        self.lines = lines
        self.last = False

    @property
    def keep_alive(self) -> bool:
        return not self.last

    def force_close(self) -> None:
        self.last = True

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter:
        """Writes everything; of a large body, the client has then taken all but 64 kB."""
        end = b"Connection: close\r\n\r\n" if self.last else b"\r\n"
        writer = request.writer
        await writer.write_eof(b"".join((self.ready.head, self.lines, end, self.ready.body)))
        return writer

    async def write_eof(self, data: bytes = b"") -> None:
        assert not data


def _is_plain_read(request: web.Request) -> bool:
    """Whether its response depends on nothing but its key and its variant."""
    headers = request.headers
    return (
        request.method == "GET"
        and request.version == HttpVersion11
        and request.keep_alive
        and not request.body_exists
        and "If-None-Match" not in headers
        and POSITION not in headers
        and "Expect" not in headers
    )


def _target(request: web.Request) -> Target:
    """With the caller, it determines the route, the result of all checks but the limits, and the
    parameters."""
    return request.raw_path, request.headers.get("X-Environment")


def _head(response: web.Response) -> bytes:
    lines = [
        f"{name}: {text}" for name, text in response.headers.items() if name not in OF_EACH_REQUEST
    ]
    return "\r\n".join(("HTTP/1.1 200 OK", *lines, "")).encode()


@lru_cache(maxsize=1)
def _date(second: int) -> str:
    return formatdate(second, usegmt=True)
