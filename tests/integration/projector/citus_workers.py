"""The workers of a Citus cluster, and databases that reach theirs through proxies."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from urllib.parse import urlsplit

from msgspec import Struct

from tests.databases import owner_of, set_up, with_database
from tests.engines import CITUS_URL, engine, with_address
from tests.integration.live_projector import connected
from write_side.postgres.connection import Connection

_WAIT = "SELECT pg_advisory_lock(59)"
_OF_ACME = """
SELECT nodename, nodeport FROM pg_dist_node JOIN pg_dist_placement USING (groupid)
WHERE shardid = get_shard_id_for_distribution_column('read_model.entry', 'acme')"""


class CuttingProxy:
    """Cuts off its server at a moment that the test chooses."""

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


class ProxiedWorker(Struct):
    """``url``: of the worker itself, not of the proxy."""

    url: str
    proxy: CuttingProxy


async def worker_of_acme(coordinator: Connection) -> tuple[str, int]:
    """Host and port of the worker that has the rows of this workspace."""
    node = await coordinator.fetchrow(_OF_ACME)
    assert node is not None
    return node["nodename"], node["nodeport"]


def on_worker(url: str, address: tuple[str, int]) -> str:
    return with_address(owner_of(url), *address)


@asynccontextmanager
async def proxied_workers(url: str) -> AsyncIterator[list[ProxiedWorker]]:
    """Turns an empty database into a cluster whose nodes reach the workers only through their
    proxies. Changing the address of a worker that already has tables would leave it out of sync for
    a while."""
    nodes = await asyncio.to_thread(engine().nodes, os.environ[CITUS_URL])
    workers: list[ProxiedWorker] = []
    async with AsyncExitStack() as stack:
        for node in nodes[1:]:
            address = urlsplit(node)
            proxy = cutting_proxy(address.hostname or "", address.port or 0)
            worker = with_database(node, urlsplit(url).path[1:])
            workers.append(ProxiedWorker(worker, await stack.enter_async_context(proxy)))
        proxies = [with_address(one.url, "127.0.0.1", one.proxy.port) for one in workers]
        async with connected(os.environ[CITUS_URL]) as others:
            # Citus updates the roles of a node when it is added, and two at a time fail.
            await others.execute(_WAIT)
            await engine().set_up([url, *proxies])
        await set_up(url, engine().model_engine)
        yield workers
