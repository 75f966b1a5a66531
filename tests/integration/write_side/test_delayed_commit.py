"""A transaction that appended is slow to commit: no reader ever sees a gap behind it."""

from __future__ import annotations

import asyncio

from tests.integration.write_side.append_locks import HeldTransaction, holding
from tests.integration.write_side.sample_commands import check_log, plain
from write_side.repository import Repository
from write_side.store.append import Append, parameters
from write_side.store.appender import _APPEND
from write_side.store.recorder import Recorder


async def _slow(hold: HeldTransaction, append: Append) -> int:
    """Appends within the open transaction of the holder. Returns the position."""
    rows = await hold.holder.fetch(_APPEND, *parameters([append]))
    return int(rows[-1]["detail"].split(":")[0])


async def _positions(recorder: Recorder) -> list[int]:
    return [row["notification_id"] for row in await recorder.log(0, 1000)]


async def test_appends_behind_a_slow_commit_come_after_it_without_a_visible_gap(
    repositories: list[Repository], database_url: str
) -> None:
    recorders = [repository.recorder for repository in repositories]
    await recorders[0].append(plain("test/before"))
    async with holding(database_url, "SELECT") as hold:
        assert await _slow(hold, plain("test/slow", n=3)) == 2
        others = [
            asyncio.create_task(recorder.append(plain(f"test/{n}-{i}")))
            for i, recorder in enumerate(recorders)
            for n in range(4)
        ]
        await hold.until_blocked(3)
        for recorder in recorders:
            assert await _positions(recorder) == [1]
            assert await recorder.head() == 1
        await hold.commit()
        positions = [(await task).position for task in others]
    assert sorted(positions) == list(range(5, 17))
    assert await check_log(recorders[0]) == 16


async def test_appends_behind_a_slow_rollback_reuse_its_positions(
    repositories: list[Repository], database_url: str
) -> None:
    recorders = [repository.recorder for repository in repositories]
    async with holding(database_url, "SELECT") as hold:
        assert await _slow(hold, plain("test/slow", n=3)) == 1
        others = [
            asyncio.create_task(recorder.append(plain(f"test/{i}")))
            for i, recorder in enumerate(recorders)
        ]
        await hold.until_blocked(3)
        await hold.release()
        assert sorted([(await task).position for task in others]) == [1, 2, 3]
    assert await check_log(recorders[0]) == 3


async def test_a_continuous_reader_sees_the_log_grow_without_a_gap(
    repositories: list[Repository], database_url: str
) -> None:
    """Slow and quick commits alternate, while a reader continues from where it last stopped."""
    recorder, reader, _ = (repository.recorder for repository in repositories)
    seen: list[int] = []

    async def follow() -> None:
        while len(seen) < 40:
            rows = await reader.log(len(seen), 1000)
            seen.extend(row["notification_id"] for row in rows)
            assert seen == list(range(1, len(seen) + 1))

    following = asyncio.create_task(follow())
    for n in range(10):
        async with holding(database_url, "SELECT") as hold:
            await _slow(hold, plain(f"test/slow-{n}", n=2))
            quick = asyncio.create_task(recorder.append(plain(f"test/quick-{n}", n=2)))
            await hold.until_blocked()
            await hold.commit()
            await quick
    await following


async def test_the_head_is_locked_last_so_a_slow_claim_blocks_no_one(
    repositories: list[Repository], database_url: str
) -> None:
    """An append that waits for a row of its own does not hold the head."""
    waiting, passing, _ = (repository.recorder for repository in repositories)
    append = plain("test/waiting")
    key = "INSERT INTO write_side.command VALUES ($1, '', 'held', 1, 1)"
    async with holding(database_url, key, append.command_key) as hold:
        task = asyncio.create_task(waiting.append(append))
        await hold.until_blocked()
        assert (await passing.append(plain("test/passing"))).position == 1
        await hold.release()
        assert (await task).position == 2
