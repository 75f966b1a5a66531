"""aiohttp's connections with the service's guarantees: every response has the error envelope and
the default headers, and there are time limits for slow clients.

aiohttp itself answers requests that reach no middleware (malformed HTTP, an unknown Expect), limits
only the pause between requests, and drops the rest of a body when it shuts down. ADR 23 lists what
is overridden here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import structlog
from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_parser import RawRequestMessage
from aiohttp.streams import StreamReader

from api.context import LIMIT_STATUS, SERVICE
from api.errors import MAX_HEADERS, MAX_TARGET, error_response, refusal_of
from api.http.client_address import client
from api.http.large_bodies import response_sent
from api.http.open_connections import OpenConnections
from api.http.request_log import (
    ROUTE,
    LongRequests,
    log_fault,
    log_request,
    request_id,
    route_of,
    traced,
)
from api.rest.repeated_read import REPEATED_READS
from api.rest.request_body import AWAITS_CONTINUE
from write_side import tracing

# Bytes a second; a client that reads more slowly is disconnected.
SLOWEST = 1024
# Additional time for a request that did not finish within the shutdown timeout.
OVERTIME = 0.1
# On shutdown, a connection stays open until this many seconds after it was opened or after its last
# response, because its next request is probably on its way. A proxy does not repeat that request on
# another connection if it is a POST.
NEXT_REQUEST = 1.0
MAX_SEGMENTS = 100
"""Segments of a path; no route has that many. aiohttp's router looks up the path without its last
segment, then without its last two, and so on: for 32,000 of them, that takes 0.3 s."""
_log = structlog.get_logger("api.connections")


class Connection(web.RequestHandler):
    def __init__(self, server: Server, **options: Any) -> None:
        self._application = server.application
        self._patience = server.patience
        self._open_connections = server.open_connections
        self._body: StreamReader | None = None
        self._busy = self._stopping = self._closed = False
        self._finished: asyncio.Future[None] | None = None
        self._awaited_since: float | None = None  # the rest of a head, or the first byte
        self._head_size = 0  # bytes that may belong to an unfinished head
        self._awaiting_until = 0.0  # 0 while a request is being answered
        self._head_timer: asyncio.TimerHandle | None = None
        self._read_timer: asyncio.TimerHandle | None = None
        self.on_lost: Callable[[], None] | None = None
        """Called when the connection is lost while its request is answered."""
        super().__init__(server, loop=asyncio.get_running_loop(), **options)

    def begin(self, body: StreamReader) -> None:
        """The head of a request was read."""
        self._busy, self._body, self._awaited_since, self._head_size = True, body, None, 0
        self._awaiting_until = 0.0
        self._open_connections.busy(self)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._await_request()
        peer = transport.get_extra_info("peername")
        self._open_connections.opened(self, client(peer[0] if peer else None, (), ()))
        if self._patience:
            self._awaited_since = asyncio.get_running_loop().time()
            self._head_timer = _later(self._patience, self._check_head)

    def data_received(self, data: bytes) -> None:
        idle = not self._busy and (self._body is None or self._body.is_eof())
        super().data_received(data)
        if not idle or self._closed:
            return
        if self._patience and not self._head_size:
            self._awaited_since = asyncio.get_running_loop().time()
            if self._head_timer is None:
                self._head_timer = _later(self._patience, self._check_head)
        self._head_size += len(data)
        if self._head_size > MAX_TARGET + MAX_HEADERS:
            # If the head is complete, its request begins before.
            asyncio.get_running_loop().call_soon(self._check_head_size)

    def close(self) -> None:
        """Closes after the request in progress or the one that is probably on its way."""
        if self._has_request():
            self._stopping = True
        else:
            self._close_idle()

    async def shutdown(self, timeout: float | None = 15.0) -> None:
        """Waits up to ``timeout`` seconds until the request in progress has arrived completely and
        its response is sent. First waits up to ``NEXT_REQUEST`` seconds for a request."""
        self._stopping = True
        loop, transport = asyncio.get_running_loop(), self.transport
        end = None if timeout is None else loop.time() + timeout
        if self._has_request():
            self._finished = loop.create_future()
            if self._awaiting_until:
                loop.call_at(self._awaiting_until, self._close_unused)
            await asyncio.wait((self._finished,), timeout=timeout)
        if self._has_request():
            timeout = OVERTIME
        else:
            # Otherwise aiohttp would wait for a handler that is waiting for a request.
            self._close_idle()
        await super().shutdown(timeout)
        if transport is not None and transport.get_write_buffer_size():
            # The rest of a response, which would be lost when the event loop ends.
            self._finished = loop.create_future()
            left = None if end is None else max(end - loop.time(), 0.0)
            await asyncio.wait((self._finished,), timeout=left)

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._patience:
            self._check_reading()

    def resume_writing(self) -> None:
        if self._read_timer is not None:
            self._read_timer.cancel()
        super().resume_writing()

    def connection_lost(self, exc: BaseException | None) -> None:
        for timer in (self._head_timer, self._read_timer):
            if timer is not None:
                timer.cancel()
        if self.on_lost is not None:
            self.on_lost()
        self._awaiting_until, self._head_size = 0.0, 0
        self._end()
        self._open_connections.closed(self)
        super().connection_lost(exc)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,  # noqa: ARG002 - it repeats the request
    ) -> web.StreamResponse:
        """The response to what no middleware has handled."""
        if status != 400:
            log_fault(request, exc)
        if request.writer.output_size > 0:
            raise ConnectionError("part of the response has already been sent")
        if status == 400:
            _log.info(
                "malformed request",
                address=request.remote,
                fault=type(exc).__name__,
                request_id=request_id(request),
            )
            response = error_response(refusal_of(exc))
        else:
            response = error_response(exc if isinstance(exc, Exception) else Exception())
        response.force_close()
        return response

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """Sends the response, or a 500 where it fails before anything was sent."""
        if self._stopping:
            # This spares the client a failed next request.
            resp.force_close()
        try:
            return await self._send(request, resp, start_time)
        except Exception as error:
            failed = self.handle_error(request, 500, error)
            return await self._send(request, failed, start_time)
        finally:
            response_sent(request)
            self._end()
            if self.transport is not None and not self._stopping:
                self._await_request()

    def log_exception(self, *args: Any, **options: Any) -> None:
        """Errors between requests; a damaged body was answered by its handler."""
        if not isinstance(options.get("exc_info"), web.RequestPayloadError):
            super().log_exception(*args, **options)

    async def _send(
        self, request: web.BaseRequest, response: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        if isinstance(request, web.Request) and ROUTE not in request:
            # aiohttp sends the application's signals only for requests that its router has seen.
            address = self._application[SERVICE].limits.peek_address(request)
            request[LIMIT_STATUS] = address
            await self._application.on_response_prepare.send(request, response)
        finished = await super().finish_response(request, response, start_time)
        log_request(request, finished[0])
        return finished

    def _has_request(self) -> bool:
        """Whether a request is being answered, or its head has arrived and it is handled in the
        next iteration of the event loop, or one is probably on its way."""
        is_awaited = asyncio.get_running_loop().time() < self._awaiting_until
        return self._busy or self._head_size > 0 or is_awaited

    def _await_request(self) -> None:
        self._awaiting_until = asyncio.get_running_loop().time() + NEXT_REQUEST

    def _close_idle(self) -> None:
        """Closes the connection; data that arrives afterwards is ignored."""
        self._closed = True
        super().close()

    def _close_unused(self) -> None:
        self._awaiting_until = 0.0
        if not self._has_request():
            self._end()

    def _end(self) -> None:
        self._busy, self.on_lost = False, None
        self._open_connections.idle(self)
        if self._finished is not None and not self._finished.done():
            self._finished.set_result(None)

    def _check_head(self) -> None:
        """Closes a connection that sends nothing, or whose request's head takes longer than
        ``patience``. One timer serves many requests."""
        self._head_timer = None
        if self._awaited_since is None:
            return
        left = self._awaited_since + self._patience - asyncio.get_running_loop().time()
        if left > 0:
            self._head_timer = _later(left, self._check_head)
        else:
            self.force_close()

    def _check_head_size(self) -> None:
        if self._head_size > MAX_TARGET + MAX_HEADERS:
            self.force_close()

    def _check_reading(self, before: int | None = None) -> None:
        """Disconnects a client that reads its response more slowly than ``SLOWEST``."""
        if self.transport is None:
            return
        left = self.transport.get_write_buffer_size()
        if before is not None and left > before - SLOWEST * self._patience:
            _log.info("the client does not read its response", left=left)
            self.transport.abort()
            return
        self._read_timer = _later(self._patience, self._check_reading, left)


class Server(web.Server):
    """Creates the connections of an application. ``served`` is aiohttp's own server for it.
    ``patience``: seconds for the head of a request, and for reading a response; 0: no limit."""

    def __init__(
        self,
        application: web.Application,
        served: web.Server,
        patience: float,
        connections: int,
        **options: Any,
    ) -> None:
        self.application = application
        self.patience = patience
        self.open_connections = OpenConnections(connections)
        self.long_requests = LongRequests()
        self._served = served
        self._options = options
        self._repeated = application.get(REPEATED_READS)
        super().__init__(self.answer, request_factory=self.begin_request)  # type: ignore[arg-type]

    def __call__(self) -> web.RequestHandler:
        return Connection(self, **self._options)

    def begin_request(
        self,
        message: RawRequestMessage,
        payload: StreamReader,
        protocol: web.RequestHandler,
        writer: AbstractStreamWriter,
        task: asyncio.Task[None],
    ) -> web.BaseRequest:
        assert isinstance(protocol, Connection)
        protocol.begin(payload)
        return self._served.request_factory(message, payload, protocol, writer, task)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        tracer = tracing.tracer()
        answer = traced(request, self._answer, tracer) if tracer else self._answer(request)
        self.long_requests.unanswered[answer] = request
        try:
            return await answer
        finally:
            del self.long_requests.unanswered[answer]

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        if sum(len(name) + len(value) for name, value in request.raw_headers) > MAX_HEADERS:
            refused = error_response(web.HTTPRequestHeaderFieldsTooLarge())
            refused.force_close()
            return refused
        if request.rel_url.raw_path.count("/") > MAX_SEGMENTS:
            return error_response(web.HTTPNotFound())
        if self._repeated and (ready := self._repeated.answer(request)):
            return ready
        try:
            response = await self._served.request_handler(request)
        except web.HTTPException as refusal:
            request[ROUTE] = route_of(request)
            response = error_response(refusal)
        # The start of the next request is unknown if the framing is damaged, or if the client still
        # waits for 100 Continue: it may send its body or not. Some clients do not wait.
        is_awaited = AWAITS_CONTINUE in request and not request.content.is_eof()
        if is_awaited or request.content.exception() is not None:
            response.force_close()
        return response


def _later(seconds: float, act: Any, *arguments: Any) -> asyncio.TimerHandle:
    return asyncio.get_running_loop().call_later(seconds, act, *arguments)
