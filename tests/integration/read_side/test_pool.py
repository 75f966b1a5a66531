"""Reads from a database that is down, does not respond, or is slow to connect to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from functools import partial

import pytest

from read_side import pool as module
from read_side.pool import QUERIES_OF_ONE, Pool, at_one_moment, fetch_text, open_pool
from read_side.refusals import ReadModelUnavailable
from tests.integration.live_projector import connected, until
from tests.proxy import Proxy, proxy_to
from write_side.postgres.connection import Connection

ONE = "SELECT 1 AS one"
LONG = "SELECT pg_sleep(0.3)"
CUT = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()"""


@pytest.fixture
async def proxy(database_url: str) -> AsyncIterator[Proxy]:
    async with proxy_to(database_url) as proxy:
        yield proxy


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "Pool", partial(Pool, patience=0.3))


async def until_read(pool: Pool, times: int = 1) -> None:
    """Repeats reads until all succeed; on a busy machine, connecting may take too long."""
    async with asyncio.timeout(60):
        while True:
            outcomes = await asyncio.gather(
                *(fetch_text(pool, ONE) for _ in range(times)), return_exceptions=True
            )
            if not any(isinstance(outcome, ReadModelUnavailable) for outcome in outcomes):
                break
    for rows in outcomes:
        assert not isinstance(rows, BaseException), rows
        assert [row["one"] for row in rows] == [1]


async def use_all(pool: Pool, size: int) -> None:
    """Opens all connections."""
    await asyncio.gather(*(fetch_text(pool, LONG) for _ in range(size)))


async def test_ended_connections_are_replaced(database_url: str) -> None:
    async with open_pool(database_url) as pool:
        await use_all(pool, 3)
        async with connected(database_url) as killer:
            await killer.execute(CUT)
        for _ in range(3):
            assert [row["one"] for row in await fetch_text(pool, ONE)] == [1]


@pytest.mark.usefixtures("impatient")
async def test_a_silent_database_is_unavailable_until_it_responds(proxy: Proxy) -> None:
    async with asyncio.timeout(120), open_pool(proxy.url) as pool:
        proxy.be_a_black_hole()
        for _ in range(2):
            with pytest.raises(ReadModelUnavailable):
                await fetch_text(pool, ONE)
        proxy.answers = True
        await until_read(pool)


@pytest.mark.usefixtures("impatient")
async def test_a_read_that_gets_no_connection_in_time_is_refused(proxy: Proxy) -> None:
    async with asyncio.timeout(120), open_pool(proxy.url) as pool:
        proxy.be_a_black_hole()
        reads = (fetch_text(pool, ONE) for _ in range(50))
        outcomes = await asyncio.gather(*reads, return_exceptions=True)
        assert {type(outcome) for outcome in outcomes} == {ReadModelUnavailable}
        proxy.answers = True
        await until_read(pool, 20)


async def test_a_lock_timeout_is_a_transient_fault(database_url: str) -> None:
    async with connected(database_url) as holder, connected(database_url) as operator:
        name = await operator.fetchval("SELECT current_database()")
        await operator.execute(f'ALTER DATABASE "{name}" SET lock_timeout = 1')
        async with open_pool(database_url) as pool, holder.transaction():
            await holder.execute("LOCK TABLE read_model.workspace")
            with pytest.raises(ReadModelUnavailable):
                await fetch_text(pool, "SELECT FROM read_model.workspace")


async def test_queries_of_one_workspace_leave_turns_for_others(database_url: str) -> None:
    done, begun = asyncio.Event(), list[str]()

    async def long(_connection: Connection) -> None:
        begun.append("long")
        await done.wait()

    async def all_begun() -> bool:
        return len(begun) == QUERIES_OF_ONE

    async def short(_connection: Connection) -> str:
        return "answered"

    async with open_pool(database_url) as pool:
        busy = [asyncio.create_task(at_one_moment(pool, "busy", long)) for _ in range(8)]
        try:
            await until(all_begun)
            async with asyncio.timeout(60):
                assert await at_one_moment(pool, "other", short) == "answered"
            assert len(begun) == QUERIES_OF_ONE
        finally:
            done.set()
            await asyncio.gather(*busy)
    assert len(begun) == len(busy)
