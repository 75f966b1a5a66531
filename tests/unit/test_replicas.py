"""Which server a read uses, and what happens if a replica cannot serve it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from msgspec import Struct

from read_side import replicas as module
from read_side.freshness import Freshness
from read_side.high_water_mark import HighWaterMark
from read_side.notices import Dependency, Notice, TypeChange
from read_side.pool import Pool
from read_side.refusals import EntryNotFound, ReadModelUnavailable
from read_side.replicas import BACKOFF, LONGEST_BACKOFF, Outcome, Replica, Replicas, ReplicaStatus
from read_side.stamp import stamp_of


class Reading(Struct):
    stamp: int | None
    dependencies: tuple[Dependency, ...] = ("a",)


class ReplicaSetup:
    """An API process that knows all changes from 10 to 12. The last one changed entry "a"."""

    def __init__(self, folder: Path, *positions: int) -> None:
        self.freshness = Freshness(HighWaterMark(folder / "mark"), lambda: 0.0)
        self.freshness.end_poll(self.freshness.begin_poll(), stamp_of(1, 10))
        for position, entry in ((11, "b"), (12, "a")):
            change = TypeChange("acme", "production", "posts", (), (entry,))
            notice = Notice(epoch=1, after=position - 1, position=position, changed=(change,))
            self.freshness.on_notice(notice)
        self.servers = [Replica(f"postgresql://r{n}:5432/db") for n in range(len(positions))]
        for server, position in zip(self.servers, positions, strict=True):
            server.is_up, server.latest = True, stamp_of(1, position)
        self.outcomes: list[Outcome] = []
        self.replicas = Replicas(self.servers, self.freshness, self.outcomes.append)

    async def read(self, *known: str, of: str | None = None) -> str | None:
        """Returns the name of the replica that served the read. ``of`` is a dependency found by the
        read."""
        chosen: list[Replica] = []

        async def read(pool: Pool) -> Reading:
            [server] = [one for one in self.servers if one.pool is pool]
            chosen.append(server)
            return Reading(server.latest, (*known, *([of] if of else [])))

        reading = await self.replicas.read(known, read)
        return chosen[0].name if reading is not None else None


Raising = Callable[[Pool], Awaitable[Reading]]


def raising(error: Exception) -> Raising:
    async def read(_: Pool) -> Reading:
        raise error

    return read


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., ReplicaSetup]:
    return lambda *positions: ReplicaSetup(tmp_path, *positions)


async def test_a_replica_without_the_last_change_serves_what_did_not_change(
    make: Callable[..., ReplicaSetup],
) -> None:
    setup = make(11)
    assert await setup.read("b") == "r0:5432"
    assert await setup.read("a") is None
    assert await setup.read(of="a") is None, "known only when it was read"
    assert setup.outcomes == ["used", "behind", "outdated"]


async def test_the_replica_that_has_the_change_is_chosen(make: Callable[..., ReplicaSetup]) -> None:
    setup = make(11, 12, 11)
    assert [await setup.read("a") for _ in range(3)] == ["r1:5432"] * 3


async def test_reads_take_turns_and_avoid_the_busiest(make: Callable[..., ReplicaSetup]) -> None:
    setup = make(12, 12, 12)
    assert {await setup.read("a") for _ in range(3)} == {"r0:5432", "r1:5432", "r2:5432"}
    setup.servers[0].reads = setup.servers[2].reads = 1
    assert [await setup.read("a") for _ in range(2)] == ["r1:5432"] * 2


@pytest.mark.parametrize("position", [9, 13], ids=["before all known changes", "ahead"])
async def test_a_replica_whose_state_is_not_known_is_not_chosen(
    position: int, make: Callable[..., ReplicaSetup]
) -> None:
    setup = make(position)
    assert await setup.read("c") is None
    assert setup.outcomes == ["behind"]


async def test_the_primary_is_read_if_a_replica_finds_nothing(
    make: Callable[..., ReplicaSetup],
) -> None:
    setup = make(12)
    assert await setup.replicas.read(("a",), raising(EntryNotFound())) is None
    assert await setup.read("a") is not None, "it stays in use"
    assert setup.outcomes == ["refused", "used"]
    assert setup.servers[0].reads == 0


async def test_after_a_fault_it_is_left_out(make: Callable[..., ReplicaSetup]) -> None:
    setup = make(12)
    assert await setup.replicas.read(("a",), raising(ReadModelUnavailable())) is None
    assert await setup.read("a") is None
    assert setup.outcomes == ["failed", "away"]
    assert setup.replicas.status() == [ReplicaStatus("r0:5432", None)]


async def test_a_query_that_a_standby_cancels_to_keep_up_leaves_it_in_use(
    make: Callable[..., ReplicaSetup],
) -> None:
    setup, error = make(12), ReadModelUnavailable()
    error.__cause__ = asyncpg.SerializationError("canceling statement due to conflict")
    assert await setup.replicas.read(("a",), raising(error)) is None
    assert await setup.read("a") == "r0:5432"


def test_lag_is_counted_in_events(make: Callable[..., ReplicaSetup]) -> None:
    status = make(10, 13).replicas.status()
    assert status == [ReplicaStatus("r0:5432", 2), ReplicaStatus("r1:5432", 0)]


async def test_without_replicas_nothing_is_counted(make: Callable[..., ReplicaSetup]) -> None:
    setup = make()
    assert await setup.read("a") is None
    assert setup.outcomes == []


async def test_the_backoff_doubles_until_a_read_succeeds(
    make: Callable[..., ReplicaSetup], monkeypatch: pytest.MonkeyPatch
) -> None:
    setup, pauses, sleep = make(12), list[float](), asyncio.sleep

    def refused(*_: Any, **__: Any) -> None:
        raise ConnectionRefusedError

    async def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 7:
            setup.servers[0].is_up = True
            assert await setup.read("a") == "r0:5432"
        await sleep(0)
        if len(pauses) == 9:
            raise asyncio.CancelledError

    monkeypatch.setattr(module, "connected", refused)
    monkeypatch.setattr(asyncio, "sleep", pause)
    with pytest.raises(asyncio.CancelledError):
        await setup.servers[0].follow()
    assert pauses == [BACKOFF, 2, 4, 8, 16, LONGEST_BACKOFF, LONGEST_BACKOFF, 2 * BACKOFF, 4]
