"""A COPY whose data the server does not read."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import asyncpg
import pytest

from tests.proxy import Proxy, proxy_to
from write_side.postgres.connection import Connection, connect
from write_side.postgres.pooler import PoolerUrl

ENOUGH = 20.0


@asynccontextmanager
async def blocked(
    url: str, patience: float | None, kind: type[str] = str
) -> AsyncIterator[tuple[Proxy, Connection, asyncio.Task[str]]]:
    """A COPY of more data than fits into the buffers between this process and the server."""
    async with proxy_to(url) as proxy:
        connection = await connect(kind(proxy.url), command_timeout=patience)
        await connection.execute("CREATE TEMPORARY TABLE copied (text text)")
        began = asyncio.Event()

        def records() -> Iterator[tuple[str]]:
            proxy.reads.clear()
            began.set()
            for _ in range(32):
                yield ("x" * 1_000_000,)

        copying = asyncio.create_task(connection.copy_records_to_table("copied", records=records()))
        await began.wait()
        try:
            yield proxy, connection, copying
        finally:
            proxy.reads.set()
            connection.terminate()


async def test_a_copy_ends_if_the_connection_is_lost(database_url: str) -> None:
    async with blocked(database_url, None) as (proxy, _, copying), asyncio.timeout(ENOUGH):
        proxy.cut()
        with pytest.raises(asyncpg.PostgresConnectionError):
            await copying


async def test_a_copy_that_is_cancelled_as_its_connection_is_lost_is_cancelled(
    database_url: str,
) -> None:
    async with blocked(database_url, None) as (_, connection, copying), asyncio.timeout(ENOUGH):
        connection.terminate()
        copying.cancel()
        with pytest.raises(asyncio.CancelledError):
            await copying


@pytest.mark.parametrize("kind", [str, PoolerUrl])
async def test_a_copy_ends_after_the_statement_timeout(database_url: str, kind: type[str]) -> None:
    async with blocked(database_url, 0.2, kind) as (*_, copying), asyncio.timeout(ENOUGH):
        with pytest.raises(TimeoutError):
            await copying
