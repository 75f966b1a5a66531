"""A connection lost in the middle of an append: sending the same append again decides whether it
happened."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.integration.write_side.append_locks import (
    HeldTransaction,
    connected,
    holding,
    until_true,
)
from tests.integration.write_side.lossy_recorder import LossyRecorder
from tests.integration.write_side.sample_commands import check_log, plain
from tests.proxy import Side
from write_side.store.append import Append, Appended
from write_side.store.conflicts import StaleAppend

_TERMINATE_FIRST = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND wait_event_type = 'Lock' ORDER BY xact_start LIMIT 1"""
_TERMINATE_OTHERS = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""
_KEY = "INSERT INTO write_side.command VALUES ($1, '', 'held', 1, 1)"


# The connection is cut at each point of the exchange


@pytest.mark.parametrize("side", ["request", "answer"])
@pytest.mark.parametrize("connection", ["warm", pytest.param("new", marks=pytest.mark.slow)])
async def test_an_append_cut_at_any_byte_takes_effect_once(
    lost: LossyRecorder, side: Side, connection: str
) -> None:
    """Before and within the request, before and within the response; and likewise while a
    connection is opened and the statement prepared."""
    await lost.append()
    if connection == "new":
        lost.reconnect()
    lost.proxy.count()
    await lost.append()
    size, cuts = lost.proxy.passed[side], lost.proxy.cuts
    points = sorted({0, 1, 5, *range(0, size, size // 20), size - 1})
    for point in points:
        if connection == "new":
            lost.reconnect()
        lost.proxy.cut_after(side, point)
        await lost.append()
    assert lost.proxy.cuts - cuts == len(points)
    assert await check_log(lost.recorder) == 2 * lost.appends


async def test_a_lost_response_is_answered_from_the_log(lost: LossyRecorder) -> None:
    await lost.append()
    append = plain("test/a", n=3)
    lost.proxy.cut_after("answer", 0)
    appended = await lost.recorder.append(append)
    assert (appended.replayed, appended.position, appended.events) == (True, 3, 3)
    assert await check_log(lost.recorder) == 5


async def test_a_request_that_never_arrived_is_appended_again(lost: LossyRecorder) -> None:
    await lost.append()
    lost.proxy.cut_after("request", 0)
    appended = await lost.recorder.append(plain("test/a"))
    assert (appended.replayed, appended.position) == (False, 3)


async def test_a_lost_call_of_many_commands_answers_each(
    lost: LossyRecorder, database_url: str
) -> None:
    """The outcome of commands that took effect is read from the log; refused commands are refused
    again."""
    await lost.append()
    many = [plain(f"test/many-{n}", n=1 + n % 2) for n in range(9)]
    async with holding(database_url) as hold:
        first = asyncio.create_task(lost.recorder.append(plain("test/first")))
        await hold.until_blocked()
        rest = [asyncio.create_task(lost.recorder.append(a)) for a in (*many, plain("test/1"))]
        await asyncio.sleep(0)
        lost.proxy.cut_after("answer", 40)
        await hold.release()
        await first
        *answers, refused = await asyncio.gather(*rest, return_exceptions=True)
    assert isinstance(refused, StaleAppend)
    for append, answer in zip(many, answers, strict=True):
        assert isinstance(answer, Appended)
        await lost.check(append, answer)
    assert await check_log(lost.recorder) == 2 + 1 + 13


# While the lost transaction still runs


@asynccontextmanager
async def _lost_in_the_server(
    lost: LossyRecorder, hold: HeldTransaction, append: Append
) -> AsyncIterator[asyncio.Task[Appended]]:
    """The append waits in the server, its client is cut off, and the append is sent again behind
    it."""
    appending = asyncio.create_task(lost.recorder.append(append))
    await hold.until_blocked(1)
    lost.proxy.cut()
    await hold.until_blocked(2)
    yield appending


async def test_a_lost_transaction_that_commits_answers_the_repetition(
    lost: LossyRecorder, database_url: str
) -> None:
    await lost.append()
    append = plain("test/a", n=2)
    async with holding(database_url) as hold, _lost_in_the_server(lost, hold, append) as appending:
        await hold.release()
        appended = await appending
    assert (appended.replayed, appended.position, appended.events) == (True, 3, 2)
    assert await check_log(lost.recorder) == 4


async def test_a_lost_transaction_that_is_rolled_back_is_replaced_by_the_repetition(
    lost: LossyRecorder, database_url: str
) -> None:
    await lost.append()
    append = plain("test/a", n=2)
    async with holding(database_url) as hold, _lost_in_the_server(lost, hold, append) as appending:
        assert await hold.watcher.fetchval(_TERMINATE_FIRST)
        await hold.until_blocked(1)
        await hold.release()
        appended = await appending
    assert (appended.replayed, appended.position) == (False, 3)
    assert await check_log(lost.recorder) == 4


async def test_a_lost_transaction_that_waits_for_its_key_comes_first(
    lost: LossyRecorder, database_url: str
) -> None:
    """It precedes the one that is sent again, whichever of the two makes the append."""
    append = plain("test/a")
    async with (
        holding(database_url, _KEY, append.command_key) as hold,
        _lost_in_the_server(lost, hold, append) as appending,
    ):
        await hold.release()
        appended = await appending
    assert appended.position == 1
    assert await check_log(lost.recorder) == 1


async def test_append_whose_session_is_terminated_is_sent_again(
    lost: LossyRecorder, database_url: str
) -> None:
    await lost.append()
    async with holding(database_url) as hold:
        appending = asyncio.create_task(lost.append())
        await hold.until_blocked()
        assert await hold.watcher.fetchval(_TERMINATE_FIRST)
        await until_true(lambda: lost.connects == 2)
        await hold.until_blocked()
        await hold.release()
        await appending
    assert await check_log(lost.recorder) == 4


async def test_idle_connections_that_were_terminated_are_replaced(
    lost: LossyRecorder, database_url: str
) -> None:
    for _ in range(3):
        await asyncio.gather(*(lost.append() for _ in range(4)))
        async with connected(database_url) as killer:
            assert await killer.fetch(_TERMINATE_OTHERS)
    assert await check_log(lost.recorder) == 2 * lost.appends
