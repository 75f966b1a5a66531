"""A proxy to a server, which can delay what is sent to it, and lose what it has delayed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

DELAY = 0.3


class SlowProxy:
    def __init__(self, host: str, port: int) -> None:
        self._server = (host, port)
        self._writers: set[asyncio.StreamWriter] = set()
        self.port = 0
        self.is_slow = False

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            from_server, to_server = await asyncio.open_connection(*self._server)
        except OSError:
            writer.close()
            return
        ends = {writer, to_server}
        self._writers |= ends
        with suppress(OSError):
            async with asyncio.TaskGroup() as group:
                group.create_task(self._forward(reader, to_server, may_be_slow=True))
                group.create_task(self._forward(from_server, writer))
        self._writers -= ends

    async def _forward(
        self, source: asyncio.StreamReader, to: asyncio.StreamWriter, may_be_slow: bool = False
    ) -> None:
        while received := await source.read(65_536):
            if may_be_slow and self.is_slow:
                await asyncio.sleep(DELAY)
            to.write(received)
        to.close()

    def cut_off(self) -> None:
        """Ends all connections, and loses what was delayed."""
        for writer in self._writers:
            writer.transport.abort()


@asynccontextmanager
async def slow_proxy(host: str, port: int) -> AsyncIterator[SlowProxy]:
    proxy = SlowProxy(host, port)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1")
    proxy.port = server.sockets[0].getsockname()[1]
    try:
        yield proxy
    finally:
        server.close()
        proxy.cut_off()
