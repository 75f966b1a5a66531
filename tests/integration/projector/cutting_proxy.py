"""A proxy that cuts off its server at a moment that the test chooses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress


class CuttingProxy:
    def __init__(self, host: str, port: int) -> None:
        self._server = (host, port)
        self._writers: set[asyncio.StreamWriter] = set()
        self.port = 0
        self.admits = True
        """Whether the proxy accepts connections."""
        self.cut_when: Callable[[], Awaitable[bool]] | None = None
        """When this returns true, the server is cut off and does not receive the data in
        transit."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if not self.admits:
                raise ConnectionError
            from_server, to_server = await asyncio.open_connection(*self._server)
        except OSError:
            writer.close()
            return
        ends = {writer, to_server}
        self._writers |= ends
        with suppress(OSError):
            async with asyncio.TaskGroup() as group:
                group.create_task(self._forward(reader, to_server, may_cut=True))
                group.create_task(self._forward(from_server, writer))
        self._writers -= ends

    async def _forward(
        self, source: asyncio.StreamReader, to: asyncio.StreamWriter, may_cut: bool = False
    ) -> None:
        while received := await source.read(65_536):
            if may_cut and self.cut_when is not None and await self.cut_when():
                self.cut_off()
            to.write(received)
        to.close()

    def cut_off(self) -> None:
        """Closes all connections and accepts no new ones."""
        self.admits, self.cut_when = False, None
        for writer in self._writers:
            writer.transport.abort()


@asynccontextmanager
async def cutting_proxy(host: str, port: int) -> AsyncIterator[CuttingProxy]:
    proxy = CuttingProxy(host, port)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1")
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        proxy.cut_off()
