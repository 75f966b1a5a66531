"""aiohttp's connections, held to what the service promises: whatever is answered has the error
envelope and every header, and a slow client is not waited for without end.

aiohttp answers by itself what never reaches a middleware: a request that is no HTTP, an Expect
it does not know. It also bounds only the pause between requests.
"""

from __future__ import annotations

import asyncio
from typing import Any

import structlog
from aiohttp import web
from aiohttp.web_urldispatcher import MatchInfoError

from api.errors import envelope, error_response, router_response
from api.http.request_log import log_fault, record, request_id

# Longer than the usual proxy in front keeps a connection, so that it is the one who closes.
KEEP_ALIVE = 75.0
# For what is still to come of a body that nobody reads: closed at once, the client may not get to
# see its answer.
LINGERING = 2.0
# Bytes a second; who takes less for long is let go.
SLOWEST = 1024
NO_HTTP = "Bad request: this is not HTTP, or a line of it is too long"
_log = structlog.get_logger("api.connections")


class Connection(web.RequestHandler):
    """``patience``: seconds for the head of a request, and for taking an answer; 0 is for ever."""

    __slots__ = ("_app", "_late", "_patience", "_stuck")

    def __init__(self, server: web.Server, app: web.Application, **options: Any) -> None:
        self._app = app
        self._patience: float = options.pop("patience")
        self._late: asyncio.TimerHandle | None = None
        self._stuck: asyncio.TimerHandle | None = None
        super().__init__(server, loop=asyncio.get_running_loop(), **options)

    def data_received(self, data: bytes) -> None:
        self._receive(data)
        # It still waits for a request: what came is a part of a head.
        if self._waiter is not None and not self._waiter.done():
            if self._late is None and self._patience:
                self._late = self._loop.call_later(self._patience, self.force_close)
        elif self._late is not None:
            self._late.cancel()
            self._late = None

    def _receive(self, data: bytes) -> None:
        """Told to stop, aiohttp drops what comes; a request under way still gets its body."""
        closing = self._close, self._force_close
        if self._request_in_progress:
            self._close = self._force_close = False
        super().data_received(data)
        self._close, self._force_close = closing[0] or self._close, closing[1] or self._force_close

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._patience:
            self._look_again()

    def resume_writing(self) -> None:
        if self._stuck is not None:
            self._stuck.cancel()
        super().resume_writing()

    def connection_lost(self, exc: BaseException | None) -> None:
        for timer in (self._late, self._stuck):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,  # noqa: ARG002 - it repeats what was sent
    ) -> web.StreamResponse:
        """What aiohttp answers by itself."""
        self._give_headers(request)
        if status != 400:
            log_fault(request, exc)
        if request.writer.output_size > 0:
            raise ConnectionError("the answer is under way already")
        if status == 400:
            _log.info(
                "no HTTP",
                address=request.remote,
                fault=type(exc).__name__,
                request_id=request_id(request),
            )
            response = envelope(400, NO_HTTP)
        else:
            response = error_response(exc if isinstance(exc, Exception) else Exception())
        response.force_close()
        return response

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """Sends the answer, and a 500 instead where nothing of it could be sent."""
        if self._close or self._force_close:
            # Told to stop: the client need not find out with its next request.
            resp.force_close()
        try:
            return await super().finish_response(request, resp, start_time)
        except Exception as error:
            return await super().finish_response(
                request, self.handle_error(request, 500, error), start_time
            )

    def log_access(
        self,
        request: web.BaseRequest,
        response: web.StreamResponse,
        time: float | None,  # noqa: ARG002 - of writing too, which is the client's
    ) -> None:
        if isinstance(request, web.Request):
            record(request, response)

    def log_exception(self, *args: Any, **options: Any) -> None:
        """What goes wrong between requests; of a damaged body its handler knows already."""
        if not isinstance(options.get("exc_info"), web.RequestPayloadError):
            super().log_exception(*args, **options)

    def _give_headers(self, request: web.BaseRequest) -> None:
        """A request that matched nothing is still one of the application's, whose signals set
        the headers that every response carries."""
        if isinstance(request, web.Request) and request._match_info is None:  # noqa: SLF001
            match = MatchInfoError(web.HTTPBadRequest())
            match.add_app(self._app)
            match.freeze()
            request._match_info = match  # noqa: SLF001

    def _look_again(self, before: int | None = None) -> None:
        """Let go of a client that takes what is written slower than ``SLOWEST``."""
        if self.transport is None:
            return
        left = self.transport.get_write_buffer_size()
        if before is not None and left > before - SLOWEST * self._patience:
            _log.info("the client does not take its answer", left=left)
            self.transport.abort()
            return
        self._stuck = self._loop.call_later(self._patience, self._look_again, left)


class Server(web.Server):
    """Makes the connections of an application."""

    def __init__(self, app: web.Application, made: web.Server, patience: float) -> None:
        self._app = app
        self._patience = patience
        self._inner: Any = made.request_handler
        super().__init__(
            self._handle,  # type: ignore[arg-type]
            request_factory=made.request_factory,
            **made._kwargs,  # noqa: SLF001
        )

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        try:
            response: web.StreamResponse = await self._inner(request)
        except web.HTTPException as refusal:
            response = router_response(refusal)
        # Where the framing of a body is damaged nobody knows where the next request begins.
        if request.content.exception() is not None:
            response.force_close()
        return response

    def __call__(self) -> web.RequestHandler:
        return Connection(self, self._app, patience=self._patience, **self._kwargs)


class Runner(web.AppRunner):
    __slots__ = ("_patience",)

    def __init__(self, app: web.Application, *, patience: float, grace: float) -> None:
        self._patience = patience
        super().__init__(
            app,
            access_log=None,
            handle_signals=False,
            keepalive_timeout=KEEP_ALIVE,
            shutdown_timeout=grace,
            lingering_time=LINGERING,
            auto_decompress=False,  # see api/http/compression.py
        )

    async def _make_server(self) -> web.Server:
        return Server(self._app, await super()._make_server(), self._patience)
