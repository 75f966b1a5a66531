"""Accepts connections for an application. On shutdown, no request on an accepted one is lost.

asyncio's own server drops a connection that it accepts in the iteration of the event loop in which
the server is closed: the client waits for a response that never comes. aiohttp drops the first
request on a connection that is accepted one iteration earlier.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

import structlog
from aiohttp import web

from api.errors import MAX_HEADER, MAX_TARGET
from api.http.connections import Server
from api.http.open_connections import most_connections

# Longer than proxies usually keep a connection, so that the proxy closes it first.
KEEP_ALIVE = 75.0
# To read the rest of an unread body: if the connection is closed at once, the client may never see
# its response.
LINGERING = 2.0
BACKLOG = 1024
PAUSE = 1.0
"""Seconds until connections are accepted again if no file descriptor was free."""
_log = structlog.get_logger("api.connections")


class Listener:
    def __init__(self, server: web.Server) -> None:
        self._server = server
        self._sockets: list[socket.socket] = []
        self._opening: set[asyncio.Task[None]] = set()

    async def listen(self, host: str, port: int, *, reuse_port: bool = False) -> int:
        """Starts to accept connections. Returns the port, which the system chooses if ``port`` is
        0. Raises OSError."""
        found = await asyncio.get_running_loop().getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        for family, address in dict.fromkeys((one[0], one[4]) for one in found):
            listening = socket.create_server(
                address[:2],
                family=family,
                backlog=BACKLOG,
                reuse_port=reuse_port,
                dualstack_ipv6=False,
            )
            self._sockets.append(listening)
            listening.setblocking(False)
            self._resume(listening)
        chosen: int = self._sockets[-1].getsockname()[1]
        return chosen

    async def close(self) -> None:
        """Accepts the connections that clients have already made, and then no more. Returns when
        the server knows all of them."""
        for listening in self._sockets:
            asyncio.get_running_loop().remove_reader(listening)
            for _ in range(BACKLOG):
                if not self._accept(listening):
                    break
            listening.close()
        if self._opening:
            await asyncio.wait(self._opening)

    def _resume(self, listening: socket.socket) -> None:
        if listening.fileno() >= 0:  # not closed
            asyncio.get_running_loop().add_reader(listening, self._accept, listening)

    def _accept(self, listening: socket.socket) -> bool:
        """Accepts only one connection, so that existing ones are served in between. Returns False
        if none was accepted."""
        loop = asyncio.get_running_loop()
        try:
            accepted, _ = listening.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return False
        except OSError as error:
            _log.error("connections cannot be accepted", fault=repr(error))
            loop.remove_reader(listening)
            loop.call_later(PAUSE, self._resume, listening)
            return False
        accepted.setblocking(False)
        opening = loop.create_task(self._open(accepted))
        self._opening.add(opening)
        opening.add_done_callback(self._opening.discard)
        return True

    async def _open(self, accepted: socket.socket) -> None:
        # The client may already be gone.
        with contextlib.suppress(OSError):
            await asyncio.get_running_loop().connect_accepted_socket(self._server, accepted)


@contextlib.asynccontextmanager
async def open_listener(
    application: web.Application, *, patience: float, grace: float, connections: int | None = None
) -> AsyncIterator[Listener]:
    """Runs the application. ``patience``: seconds that a client has to send the head of a request
    and to read a response; 0 means no limit. ``grace``: seconds that requests in progress have to
    finish on shutdown. ``connections``: the maximum; by default, the share of the process's open
    files that ``most_connections`` returns."""
    started = web.AppRunner(application)
    await started.setup()
    assert started.server is not None
    server = Server(
        application,
        started.server,
        patience,
        most_connections() if connections is None else connections,
        access_log=None,
        keepalive_timeout=KEEP_ALIVE,
        lingering_time=LINGERING,
        auto_decompress=False,  # see api/rest/request_body.py
        max_line_size=MAX_TARGET,
        max_field_size=MAX_HEADER,
    )
    listener = Listener(server)
    watching = asyncio.create_task(server.long_requests.watch(), name="long requests")
    try:
        yield listener
    finally:
        watching.cancel()
        # Ends streams, which would not finish by themselves.
        await application.shutdown()
        await listener.close()
        # Requests that have already arrived are read in the next iteration of the event loop, after
        # this task has run in it.
        for _ in range(2):
            await asyncio.sleep(0)
        server.pre_shutdown()
        await server.shutdown(grace)
        await started.cleanup()
