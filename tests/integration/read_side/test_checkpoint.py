"""Waiting for the checkpoint, and watching it over a connection that may be lost."""

from __future__ import annotations

import asyncio
from typing import Any

import asyncpg
import pytest
from structlog.testing import capture_logs

from read_side import checkpoint as module
from read_side.checkpoint import CheckpointWatch, wait_until_visible
from read_side.engine import is_distributed
from tests.integration.live_projector import SECONDS, connected, until
from tests.proxy import proxy_to
from write_side.postgres import faults as fault_log

MOVE = "UPDATE read_model.checkpoint SET position = $1"
ANNOUNCE = "UPDATE projector.announced SET position = $1"
TELL = "SELECT pg_notify('contentlog_projected', $1)"
CUT = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()"""


async def execute(url: str, sql: str, *parameters: object) -> None:
    async with connected(url) as connection:
        await connection.execute(sql, *parameters)


async def move(url: str, position: int) -> None:
    """Moves the checkpoint as a projector does; on Citus it also announces the position."""
    async with connected(url) as connection:
        await connection.execute(MOVE, position)
        if await is_distributed(connection):
            await connection.execute(ANNOUNCE, position)


async def test_each_request_waits_for_its_own_position(database_url: str) -> None:
    async with CheckpointWatch(database_url) as watch:
        waiting = {n: asyncio.create_task(watch.wait(n, SECONDS)) for n in (1, 5, 9)}
        await move(database_url, 5)
        await execute(database_url, TELL, "5")
        assert await waiting[1]
        assert await waiting[5]
        assert not waiting[9].done()
        await move(database_url, 9)
        assert await waiting[9], "found without a notice"
        assert await watch.wait(7, 0), "passed already"


async def test_a_cancelled_wait_leaves_nothing_behind(database_url: str) -> None:
    """While a projector is down for an hour, waiting requests must not accumulate in memory."""
    async with CheckpointWatch(database_url) as watch:
        assert not any(await asyncio.gather(*(watch.wait(1, 0.05) for _ in range(100))))
        cancelled = asyncio.create_task(watch.wait(1, 10))
        await asyncio.sleep(0)
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        assert watch._waiting == {}


async def test_a_late_result_never_moves_the_checkpoint_back(database_url: str) -> None:
    async with CheckpointWatch(database_url) as watch:
        watch._passed(7)
        watch._passed(6)
        assert watch.position == 7


async def test_a_fault_that_lasts_is_logged_again_after_a_minute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    faults = [OSError("refused")] * 3 + [OSError("starting up")]
    attempts = iter(faults)

    async def refuse(*_: object, **__: object) -> None:
        raise next(attempts, faults[-1])

    async def is_logged() -> bool:
        return [line["fault"] for line in lines[: len(expected)]] == expected

    monkeypatch.setattr(module, "connect", refuse)
    expected = [repr(faults[0]), repr(faults[-1])]
    with capture_logs() as lines:
        async with CheckpointWatch("") as watch:
            await until(is_logged)
            monkeypatch.setattr(fault_log, "AGAIN", 0.0)
            expected.append(repr(faults[-1]))
            await until(is_logged)
            assert not watch.is_listening


async def test_after_a_lost_connection_the_checkpoint_is_read_again(database_url: str) -> None:
    """A restored database may be at an earlier position."""
    await move(database_url, 9)
    async with CheckpointWatch(database_url) as watch:
        assert await watch.wait(9, SECONDS)
        await move(database_url, 3)
        await execute(database_url, CUT)

        async def back() -> bool:
            return watch.position == 3

        await until(back)


@pytest.mark.slow
async def test_the_watch_recovers_from_a_silent_database(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also between connecting and listening."""
    monkeypatch.setattr(module, "PATIENCE", 1.0)
    connect, connections = asyncpg.connect, []

    async def connect_and_lose(*args: Any, **options: Any) -> Any:
        connections.append(await connect(*args, **options))
        if len(connections) == 1:
            proxy.be_a_black_hole()
            proxy.answers = True
        return connections[-1]

    monkeypatch.setattr(asyncpg, "connect", connect_and_lose)
    async with proxy_to(database_url) as proxy, CheckpointWatch(proxy.url) as watch:
        assert not await watch.wait(9, 0.1)
        monkeypatch.setattr(asyncpg, "connect", connect)
        await move(database_url, 9)
        assert await watch.wait(9, SECONDS)
        proxy.be_a_black_hole()
        proxy.answers = True
        await move(database_url, 10)
        assert await watch.wait(10, SECONDS)


async def test_after_a_rebuild_from_a_restored_log_the_checkpoint_is_read_again(
    database_url: str,
) -> None:
    """Otherwise a writer at a position that is used again would be answered too early."""
    await move(database_url, 9)
    async with CheckpointWatch(database_url) as watch:
        assert await watch.wait(9, SECONDS)
        await move(database_url, 3)

        async def back() -> bool:
            return watch.position == 3

        await until(back)
        await move(database_url, 4)
        assert await watch.wait(4, SECONDS)


async def test_the_watch_ends_even_if_woken_at_the_same_moment(database_url: str) -> None:
    """asyncio.wait_for would swallow the cancellation, and the watch would never end."""
    async with asyncio.timeout(SECONDS):
        for _ in range(5):
            async with CheckpointWatch(database_url) as watch:
                await asyncio.sleep(0.1)
                watch._wanted.set()


async def test_waiting_without_a_watch(database_url: str) -> None:
    assert not await wait_until_visible(database_url, 1, 0.1)
    await move(database_url, 1)
    assert await wait_until_visible(database_url, 1, SECONDS)
