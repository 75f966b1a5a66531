"""Connections to a leader that stops responding, with simulated hosts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import asyncpg
import pytest

from write_side.postgres import leader_watch
from write_side.postgres.leader_watch import leader_watch as watch_of
from write_side.postgres.leader_watch import wants_leader

A, B = ("postgresql://role:secret@a/content", "postgresql://role:secret@b/content")
URL = "postgresql://role:secret@a,b/content?target_session_attrs=read-write"


class Connection:
    """Responds unless ``is_silent`` is set."""

    def __init__(self) -> None:
        self.is_silent = asyncio.Event()
        self.is_open = True

    async def execute(self, _statement: str, **_options: float) -> None:
        if self.is_silent.is_set():
            raise TimeoutError

    def terminate(self) -> None:
        self.is_open = False

    def is_closed(self) -> bool:
        return not self.is_open


class Hosts:
    """Simulated hosts. ``leader`` is the URL of the current leader, or None. ``frozen`` is the URL
    of a host that never completes a connection. ``probes`` are the watch's connections to leaders,
    in order. ``asked`` are the URLs of all other connection attempts."""

    def __init__(self) -> None:
        self.leader: str | None = A
        self.probes: list[Connection] = []
        self.refused = 0
        self.asked: list[str] = []
        self.frozen: str | None = None

    async def find(self) -> Any:
        await asyncio.sleep(0)
        if self.leader is None:
            self.refused += 1
            raise asyncpg.CannotConnectNowError("none leads")
        self.probes.append(Connection())
        return self.leader, self.probes[-1]

    async def open(self) -> Any:
        async def connect_to(host: str) -> Any:
            self.asked.append(host)
            if host == self.frozen:
                await asyncio.Event().wait()
            return Connection()

        return await watch_of(URL, self.find).connect(connect_to)


@pytest.fixture
def hosts(monkeypatch: pytest.MonkeyPatch) -> Hosts:
    monkeypatch.setattr(leader_watch, "BEAT", 0)
    monkeypatch.setattr(leader_watch, "AGAIN", 0)
    return Hosts()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - of anything
            await asyncio.sleep(0)


async def test_connections_to_a_silent_host_are_ended_when_another_one_leads(hosts: Hosts) -> None:
    before = [await hosts.open(), await hosts.open()]
    await until(lambda: len(hosts.probes) == 1)
    hosts.leader = None
    hosts.probes[0].is_silent.set()
    await until(lambda: hosts.refused > 3)
    assert [one.is_open for one in before] == [True, True]
    hosts.leader = B
    await until(lambda: not before[0].is_open)
    after = await hosts.open()
    assert [one.is_open for one in (*before, *hosts.probes, after)] == [False] * 3 + [True] * 2


async def test_a_leader_that_is_only_slow_keeps_its_connections(hosts: Hosts) -> None:
    opened = await hosts.open()
    for times in range(1, 4):
        await until(lambda: len(hosts.probes) == times)  # noqa: B023
        hosts.probes[-1].is_silent.set()
    await until(lambda: len(hosts.probes) == 4)
    assert opened.is_open


async def test_a_connection_is_not_awaited_from_a_host_that_was_replaced(hosts: Hosts) -> None:
    hosts.frozen = A
    opening = asyncio.create_task(hosts.open())
    await until(lambda: hosts.asked == [A])
    hosts.leader = B
    hosts.probes[-1].is_silent.set()
    assert (await opening).is_open
    assert hosts.asked == [A, B]


async def test_a_connection_that_opens_while_another_host_takes_over_is_ended(hosts: Hosts) -> None:
    watch = watch_of(URL, hosts.find)

    async def connect_to(_host: str) -> Any:
        # Runs after this function's task is done and before ``connect`` continues.
        asyncio.get_running_loop().call_soon(watch._terminate_others, B)
        return Connection()

    assert (await watch.connect(connect_to)).is_closed()


async def test_the_watch_ends_with_its_last_connection(hosts: Hosts) -> None:
    opened = [await hosts.open(), await hosts.open()]
    await until(lambda: len(hosts.probes) == 1)
    for one in opened:
        one.terminate()
    await until(lambda: not hosts.probes[0].is_open)
    await until(lambda: not leader_watch._watches)
    await hosts.open()
    await until(lambda: len(hosts.probes) == 2)


async def test_while_none_leads_no_connection_is_tried(hosts: Hosts) -> None:
    hosts.leader = None
    with pytest.raises(asyncpg.CannotConnectNowError, match="none leads"):
        await hosts.open()
    waiting = asyncio.create_task(hosts.open())
    await until(lambda: waiting.done())
    assert waiting.exception()
    hosts.leader = A
    await until(lambda: not leader_watch._watches)
    await hosts.open()


@pytest.mark.parametrize(
    ("attributes", "is_watched"),
    [("", False), ("?target_session_attrs=any", False), ("?target_session_attrs=primary", True)],
)
def test_only_urls_that_ask_for_the_leader_are_watched(attributes: str, is_watched: bool) -> None:
    assert wants_leader(f"postgresql://a,b/content{attributes}") is is_watched
