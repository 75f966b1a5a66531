"""A proxy in front of PostgreSQL that cuts connections at a chosen byte, stops responding, or
closes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal
from urllib.parse import parse_qs, urlsplit, urlunsplit

from tests.processes import free_port

Side = Literal["request", "answer"]

ACCEPTING = 4
"""Iterations of the event loop from accepting a connection until ``_serve`` has begun."""


class Proxy:
    """Passes bytes between clients and the server, on a loopback TCP port.

    ``passed`` counts the bytes in each direction since ``cut_after`` or ``count``. ``cuts`` counts
    the times connections were cut. While ``admits`` is false, new connections are dropped. While
    ``answers`` is false, they are accepted but get no response. A silenced connection also hides
    the client's disconnect from the server. While ``reads`` is not set, no bytes are read, so that
    the buffers of the senders fill.
    """

    def __init__(self, url: str) -> None:
        self._url = urlsplit(url)
        self._server: asyncio.Server | None = None
        # Not an ephemeral port: while the proxy is shut, an outgoing connection might take it.
        self._port = free_port()
        self._open: set[asyncio.StreamWriter] = set()
        self._pumps: set[asyncio.Task[None]] = set()
        self._budget: dict[Side, int] = {}
        self._dumb: set[asyncio.Task[None]] = set()
        self._serving: set[asyncio.Task[None]] = set()
        self._closing = asyncio.Event()
        self.admits = True
        self.answers = True
        self.reads = asyncio.Event()
        self.reads.set()
        self.passed: dict[Side, int] = {"request": 0, "answer": 0}
        self.cuts = 0

    @property
    def url(self) -> str:
        user = self._url.netloc.rpartition("@")[0]
        netloc = f"{user}@127.0.0.1:{self._port}"
        # If cancelled during its TLS request, asyncpg leaves an exception that no one retrieves.
        return urlunsplit(self._url._replace(netloc=netloc, query="sslmode=disable"))

    def count(self) -> None:
        """Resets the byte counts to 0."""
        self.passed = {"request": 0, "answer": 0}

    def cut_after(self, side: Side, n: int) -> None:
        """Cuts the connection once, instead of passing byte ``n`` (counted from 0, from now on) of
        one side."""
        self.count()
        self._budget[side] = n

    def cut(self) -> None:
        """Cuts all connections now. The server continues with its current statement."""
        self.cuts += 1
        for writer in self._open:
            writer.transport.abort()

    def go_dumb(self, side: Side) -> None:
        """Discards what one side of the open connections sends from now on. The connections stay
        open."""
        self._dumb |= {pump for pump in self._pumps if pump.get_name() == side}

    def be_a_black_hole(self) -> None:
        """Stops passing data in both directions, without refusing connections. Open connections
        stay silent; new ones work again once ``answers`` is true."""
        self.answers = False
        self.go_dumb("request")
        self.go_dumb("answer")

    async def shut(self) -> None:
        """Refuses new connections, and cuts open ones."""
        assert self._server is not None
        for listening in self._server.sockets:
            asyncio.get_running_loop().remove_reader(listening.fileno())
        # asyncio (Python 3.11) leaks a connection if it is accepted as its server is closed.
        for _ in range(ACCEPTING):
            await asyncio.sleep(0)
        self._server.close()
        self.cut()

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port)

    async def close(self) -> None:
        await self.shut()
        self._closing.set()
        for pump in self._pumps:
            pump.cancel()
        await asyncio.gather(*self._pumps, *self._serving, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        if not self.admits:
            client.transport.abort()
            return
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)
        answers, server = await self._connect()
        self._open |= {client, server}
        pumps = {
            asyncio.create_task(self._pump("request", reader, server), name="request"),
            asyncio.create_task(self._pump("answer", answers, client), name="answer"),
        }
        self._pumps |= pumps
        if not self.answers:
            self.go_dumb("answer")
        await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        for writer in (client, server):
            writer.transport.abort()
        await asyncio.wait(pumps)
        self._open -= {client, server}
        self._pumps -= pumps
        self._dumb -= pumps

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        query = parse_qs(self._url.query)
        host = query.get("host", [self._url.hostname or "localhost"])[0]
        port = int(query.get("port", [str(self._url.port or 5432)])[0])
        if host.startswith("/"):
            return await asyncio.open_unix_connection(f"{host}/.s.PGSQL.{port}")
        return await asyncio.open_connection(host, port)

    async def _pump(
        self, side: Side, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        with contextlib.suppress(ConnectionError):
            while heard := await reader.read(65536):
                await self.reads.wait()
                if asyncio.current_task() in self._dumb:
                    continue
                budget = self._budget.get(side)
                if budget is not None and self.passed[side] + len(heard) > budget:
                    await self._pass(side, heard[: budget - self.passed[side]], writer)
                    del self._budget[side]
                    self.cuts += 1
                    return
                await self._pass(side, heard, writer)
        if side == "request" and asyncio.current_task() in self._dumb:
            await self._closing.wait()

    async def _pass(self, side: Side, heard: bytes, writer: asyncio.StreamWriter) -> None:
        self.passed[side] += len(heard)
        writer.write(heard)
        await writer.drain()


@asynccontextmanager
async def proxy_to(url: str) -> AsyncIterator[Proxy]:
    proxy = Proxy(url)
    await proxy.open()
    try:
        yield proxy
    finally:
        await proxy.close()
