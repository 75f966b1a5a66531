"""The workers of a Citus cluster, and databases that reach theirs through proxies."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from urllib.parse import urlsplit

from msgspec import Struct

from tests.databases import owner_of, set_up, with_database
from tests.engines import CITUS_URL, engine, with_address
from tests.integration.live_projector import connected
from tests.integration.projector.cutting_proxy import CuttingProxy, cutting_proxy
from write_side.postgres.connection import Connection

_WAIT = "SELECT pg_advisory_lock(59)"
_OF_ACME = """
SELECT nodename, nodeport FROM pg_dist_node JOIN pg_dist_placement USING (groupid)
WHERE shardid = get_shard_id_for_distribution_column('read_model.entry', 'acme')"""


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
