"""An event store that does not respond: waiting, repeated commands, and giving up."""

from __future__ import annotations

import asyncio
import contextlib
import json
from dataclasses import replace

import pytest

from tests.integration.write_side import sample_commands
from tests.integration.write_side.append_locks import holding, until, until_true
from tests.integration.write_side.lossy_recorder import LossyRecorder
from tests.integration.write_side.sample_commands import check_log, check_store, magazine, plain
from tests.proxy import Side, proxy_to
from write_side.dispatch import execute
from write_side.domain.refusals import CommandKeyReused, UnknownEntry
from write_side.store import recorder as recorder_module
from write_side.store.append import Append
from write_side.store.appender import CLOSING
from write_side.store.conflicts import StoreUnavailable
from write_side.store.recorder import Recorder, open_recorder


async def test_the_appender_waits_for_a_server_that_refuses_connections(
    lost: LossyRecorder,
) -> None:
    await lost.append()
    await lost.proxy.shut()
    appending = [asyncio.create_task(lost.append()) for _ in range(5)]
    before = lost.connects
    await until_true(lambda: lost.connects >= before + 3)
    await lost.proxy.open()
    await asyncio.gather(*appending)
    assert await check_log(lost.recorder) == 12


@pytest.mark.parametrize("happened", [True, False])
async def test_after_the_timeout_only_a_repetition_shows_whether_it_happened(
    lost: LossyRecorder, happened: bool
) -> None:
    await lost.append()
    append = plain("test/a", n=2)
    lost.proxy.cut_after("answer" if happened else "request", 0)
    lost.proxy.admits = False
    with lost.patience(0.2), pytest.raises(StoreUnavailable):
        await lost.recorder.append(append)

    async def has_happened() -> bool:
        return await lost.recorder.appended(append.command_key) is not None

    if happened:
        await until(has_happened)  # a slow server commits later than the timeout
    else:
        assert not await has_happened()
    lost.proxy.admits = True
    appended = await lost.recorder.append(append)
    assert (appended.replayed, appended.position) == (happened, 3)
    assert await check_log(lost.recorder) == 4


async def test_waiting_appends_fail_together_with_the_first(lost: LossyRecorder) -> None:
    """Imports are appended one by one, and would otherwise wait for the timeouts of those
    before."""
    await lost.append()
    await lost.proxy.shut()
    large = [plain(f"test/large-{n}", n=60) for n in range(20)]
    before = lost.connects
    with lost.patience(0.3):
        found = await asyncio.gather(*map(lost.recorder.append, large), return_exceptions=True)
    assert {type(outcome) for outcome in found} == {StoreUnavailable}
    assert 0 < lost.connects - before < len(large), "each would have tried to connect several times"
    await lost.proxy.open()
    for append in large:
        assert not (await lost.recorder.append(append)).replayed


@pytest.mark.parametrize("side", ["request", "answer"])
async def test_a_silent_connection_is_replaced(lost: LossyRecorder, side: Side) -> None:
    await lost.append()
    lost.proxy.go_dumb(side)
    with lost.patience(6.0):
        appended = await lost.recorder.append(plain("test/a"))
    assert (appended.replayed, appended.position) == (side == "answer", 3)
    assert await check_log(lost.recorder) == 3


async def test_a_silent_server_does_not_block_an_append_forever(lost: LossyRecorder) -> None:
    lost.proxy.answers = False
    async with asyncio.timeout(60):
        with lost.patience(0.3), pytest.raises(StoreUnavailable):
            await lost.recorder.append(plain("test/a"))


async def test_a_server_that_stops_reading_does_not_block_a_large_append_forever(
    lost: LossyRecorder,
) -> None:
    """The events fill the buffers between this process and the server."""
    state = json.dumps("x" * 1_000_000).encode()
    events = [replace(one, state=state) for one in plain("test/b", n=16).events]
    await lost.recorder.append(Append(events=plain("test/a").events, is_large=True))
    lost.proxy.reads.clear()
    async with asyncio.timeout(20):
        with lost.patience(0.3), pytest.raises(StoreUnavailable):
            await lost.recorder.append(Append(events=events, is_large=True))


@pytest.mark.slow
async def test_reads_of_a_silent_server_end(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder_module, "PATIENCE", 1.0)
    async with proxy_to(database_url) as proxy, open_recorder(proxy.url) as recorder:
        proxy.be_a_black_hole()
        async with asyncio.timeout(60):
            with pytest.raises(StoreUnavailable):
                await recorder.head()
        proxy.answers = True

        async def responds() -> bool:
            with contextlib.suppress(StoreUnavailable):
                return await recorder.head() == 0
            return False

        await until(responds)


async def test_a_cancelled_read_of_a_silent_server_ends_at_once(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By default, the pool asks the server to cancel the statement, and waits until it has."""
    monkeypatch.setattr(recorder_module, "PATIENCE", 60.0)
    async with proxy_to(database_url) as proxy, open_recorder(proxy.url) as recorder:
        proxy.be_a_black_hole()
        async with asyncio.timeout(20):
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.1):
                    await recorder.head()


# Repeated commands


async def test_a_repeated_command_is_answered_even_if_it_would_now_be_refused(
    recorder: Recorder,
) -> None:
    repository = sample_commands.repository_on(recorder)
    await magazine(repository)
    delete = sample_commands.delete(await sample_commands.entry(repository, "post"))
    done = await execute(delete, repository)
    again = await execute(delete, repository)
    assert (again.replayed, again.position, again.events) == (True, done.position, done.events)
    with pytest.raises(UnknownEntry):
        await execute(sample_commands.delete(delete.entry_id), repository)
    await check_store(repository)


async def test_a_repeated_command_that_would_change_nothing_has_its_position(
    recorder: Recorder,
) -> None:
    repository = sample_commands.repository_on(recorder)
    await magazine(repository)
    rename = sample_commands.rename(await sample_commands.entry(repository, "old"), "new")
    done = await execute(rename, repository)
    await sample_commands.entry(repository, "other")
    assert (await execute(rename, repository)).position == done.position


async def test_the_key_of_an_executed_command_is_refused_to_another(recorder: Recorder) -> None:
    repository = sample_commands.repository_on(recorder)
    await magazine(repository)
    await execute(sample_commands.create("a", command_key="k", digest=b"one"), repository)
    with pytest.raises(CommandKeyReused):
        await execute(sample_commands.create("b", command_key="k", digest=b"two"), repository)
    await execute(sample_commands.create("b", command_key="k2", digest=b"two"), repository)
    await check_store(repository)


async def test_key_of_a_refused_command_is_free(recorder: Recorder) -> None:
    repository = sample_commands.repository_on(recorder)
    await magazine(repository)
    with pytest.raises(UnknownEntry):
        await execute(
            sample_commands.delete("018f0000-0000-7000-8000-00000000dead", command_key="k"),
            repository,
        )
    await execute(sample_commands.create("a", command_key="k"), repository)


# Cancellation


async def test_an_append_continues_when_its_caller_is_cancelled(
    recorder: Recorder, database_url: str
) -> None:
    """One append is in progress, and one waits behind it and is not sent yet."""
    appends = [plain("test/a"), plain("test/b")]
    async with holding(database_url) as hold:
        under_way = asyncio.create_task(recorder.append(appends[0]))
        await hold.until_blocked()
        tasks = [under_way, asyncio.create_task(recorder.append(appends[1]))]
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        assert all(task.cancelled() for task in tasks)
        await hold.release()
    again = [await recorder.append(append) for append in appends]
    assert [appended.replayed for appended in again] == [True, True]
    assert await check_log(recorder) == 2


async def test_close_waits_for_appends_in_progress_and_refuses_later_ones(
    database_url: str,
) -> None:
    async with holding(database_url) as hold, open_recorder(database_url) as recorder:
        under_way = asyncio.create_task(recorder.append(plain("test/a")))
        await hold.until_blocked()
        behind = [asyncio.create_task(recorder.append(plain(f"test/{n}"))) for n in range(3)]
        await asyncio.sleep(0)
        closing = asyncio.create_task(recorder.close())
        await asyncio.sleep(0)
        with pytest.raises(StoreUnavailable):
            await recorder.append(plain("test/late"))
        assert not closing.done()
        await hold.release()
        await closing
        positions = [(await task).position for task in (under_way, *behind)]
        assert positions == [1, 2, 3, 4]
        with pytest.raises(StoreUnavailable):
            await recorder.append(plain("test/late"))


@pytest.mark.parametrize("is_large", [False, True])
async def test_close_does_not_wait_for_a_silent_server(
    lost: LossyRecorder, *, is_large: bool
) -> None:
    """By then, requests have had their time, and a supervisor soon kills the process."""
    await lost.recorder.append(Append(events=plain("test/a").events, is_large=is_large))
    lost.proxy.be_a_black_hole()
    append = Append(events=plain("test/b").events, is_large=is_large)
    appending = asyncio.create_task(lost.recorder.append(append))
    await asyncio.sleep(0.1)
    async with asyncio.timeout(2 * CLOSING):
        await lost.recorder.close()
    with pytest.raises(StoreUnavailable):
        await appending


async def test_a_cancelled_close_does_not_affect_the_appends(
    recorder: Recorder, database_url: str
) -> None:
    async with holding(database_url) as hold:
        appending = asyncio.create_task(recorder.append(plain("test/a")))
        await hold.until_blocked()
        closing = asyncio.create_task(recorder.close())
        await asyncio.sleep(0)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        await hold.release()
        assert (await appending).position == 1


async def test_close_of_a_recorder_that_never_appended_does_nothing(recorder: Recorder) -> None:
    await recorder.close()
    await recorder.close()


async def test_no_caller_waits_for_a_stopped_appender(
    recorder: Recorder, database_url: str
) -> None:
    append = plain("test/a")
    async with holding(database_url) as hold:
        appending = asyncio.create_task(recorder.append(append))
        await hold.until_blocked()
        running = recorder._appender._running
        assert running is not None
        running.cancel()
        with pytest.raises(StoreUnavailable):
            await appending
        await hold.release()
    assert (await recorder.append(append)).position == 1
    assert await check_log(recorder) == 1
