"""The tail delivers each change once, in order and never before it can be read. This holds for
notices and reads, in any order of commits, notices, lost connections, crashes and faults."""

from __future__ import annotations

import asyncio
import random
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from read_side import change_tail
from read_side.change_tail import Arrivals, ChangeTail
from read_side.changes import ChangePage, ChangeRecord, ChangeSelection
from read_side.checkpoint import CheckpointWatch
from read_side.notices import FedChange, Notice, TypeChange
from read_side.pool import Pool
from read_side.refusals import ReadModelUnavailable
from write_side.domain.identity import Scope

SCOPES = [Scope("acme", "production"), Scope("acme", "staging"), Scope("other", "production")]
STEPS = 400


def change(position: int, version: int = 1) -> ChangeRecord:
    at = datetime(2026, 1, 31, tzinfo=UTC)
    names = ("posts", f"entry-{position}", "slug", None, "en", "draft")
    return ChangeRecord(position, "entry.created", False, "type", *names, version, at, "someone")


class SimulatedLog:
    """A log, the read model with its position in the log, and the notices in transit."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.log: list[tuple[Scope, ChangeRecord]] = []
        self.position = self.furthest = 0
        self.epoch = 1
        self.notices: list[Notice] = []
        self.watch = CheckpointWatch("postgresql://unused")

    def commit(self) -> None:
        """Projects the next events of the log, and appends new ones if too few are left."""
        number = self.rng.randint(1, 3)
        while len(self.log) < self.position + number:
            self.log.append((self.rng.choice(SCOPES), change(len(self.log) + 1)))
        batch = self.log[self.position : self.position + number]
        scopes = {scope for scope, _ in batch}
        notice = Notice(
            epoch=self.epoch,
            after=self.position,
            position=self.position + number,
            changed=tuple(TypeChange(*_names(scope), "posts", (), ()) for scope in scopes),
            fed=tuple(FedChange(*_names(scope), one) for scope, one in batch)
            if number < 3
            else None,
        )
        self.position += number
        self.furthest = max(self.furthest, self.position)
        self.notices.append(notice)

    def notify(self) -> None:
        if self.notices:
            encoded = self.notices.pop(0).encoded()
            self.watch._on_notification(None, 0, "channel", encoded)

    def lose_notice(self) -> None:
        if self.notices:
            self.notices.pop(0)

    def poll(self) -> None:
        self.watch._announce_missed(self.epoch, self.position)

    def lose_connection(self) -> None:
        self.notices.clear()
        self.watch._announced = (-1, -1)

    def crash(self) -> None:
        """Loses what was not yet on disk; the next projector starts a new epoch."""
        self.position = max(0, self.position - self.rng.randint(0, 5))
        self.epoch += 1
        self.lose_connection()

    async def changes_after(
        self, _pool: Pool, scope: Scope, _selection: ChangeSelection, after: int, limit: int
    ) -> ChangePage:
        for _ in range(self.rng.randint(0, 3)):
            await asyncio.sleep(0)
        if self.rng.random() < 0.1:
            raise ReadModelUnavailable
        through, known = self.position, [one for where, one in self.log if where == scope]
        readable = [one for one in known if one.position <= through]
        changes = [one for one in readable if one.position > after]
        before = [one for one in readable if one.position <= after]
        for _ in range(self.rng.randint(0, 3)):
            await asyncio.sleep(0)
        previous = before[-1] if before else None
        return ChangePage(changes[:limit], None, previous, through, len(changes) <= limit)


def _names(scope: Scope) -> tuple[str, str]:
    return scope.workspace, scope.environment


class Reader:
    """Receives changes. ``early`` holds those that arrived before they could be read."""

    def __init__(self, simulated: SimulatedLog) -> None:
        self._world = simulated
        self.changes: list[ChangeRecord] = []
        self.early: list[ChangeRecord] = []
        self.is_replaced = False

    def arrived(self, _arrivals: Arrivals, selected: list[ChangeRecord]) -> None:
        self.early += [one for one in selected if one.position > self._world.furthest]
        self.changes += selected

    def end(self) -> None:
        self.is_replaced = True


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_tail, "RETRY", 0)
    monkeypatch.setattr(change_tail, "AT_ONCE", 3)


async def joined(simulated: SimulatedLog, tail: ChangeTail, scope: Scope) -> tuple[int, Reader]:
    reader = Reader(simulated)
    while True:
        try:
            return await tail.join(scope, ChangeSelection(), reader), reader
        except ReadModelUnavailable:
            continue


async def settle() -> None:
    for _ in range(200):
        await asyncio.sleep(0)


@pytest.mark.parametrize("seed", range(40))
async def test_each_change_arrives_once_in_order_when_it_can_be_read(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulated = SimulatedLog(seed)
    monkeypatch.setattr(change_tail, "changes_after", simulated.changes_after)
    often = [simulated.commit] * 8 + [simulated.notify] * 10
    deeds = [
        *often,
        simulated.lose_notice,
        simulated.poll,
        simulated.poll,
        simulated.lose_connection,
        simulated.crash,
    ]
    readers: list[tuple[Scope, int, Reader]] = []
    async with ChangeTail(cast("Any", None), simulated.watch) as tail:
        for step in range(STEPS):
            if step % 50 == 0:
                scope = simulated.rng.choice(SCOPES)
                readers.append((scope, *await joined(simulated, tail, scope)))
            simulated.rng.choice(deeds)()
            for _ in range(simulated.rng.choice((0, 0, 1, 5))):
                await asyncio.sleep(0)
        while simulated.position < len(simulated.log):
            simulated.commit()
        simulated.notices.clear()
        for _ in range(3):
            simulated.poll()
            await settle()
    for scope, position, reader in readers:
        expected = [
            one for where, one in simulated.log if where == scope and one.position > position
        ]
        assert reader.changes == expected
        assert reader.early == []
        assert not reader.is_replaced


async def test_notices_alone_deliver_without_a_read(monkeypatch: pytest.MonkeyPatch) -> None:
    simulated, reads = SimulatedLog(0), 0

    async def counted(*args: Any) -> ChangePage:
        nonlocal reads
        reads += 1
        return await simulated.changes_after(*args)

    monkeypatch.setattr(change_tail, "changes_after", counted)
    monkeypatch.setattr(simulated.rng, "random", lambda: 1.0)
    monkeypatch.setattr(simulated.rng, "randint", lambda *_: 1)
    async with ChangeTail(cast("Any", None), simulated.watch) as tail:
        simulated.poll()
        readers = [(await joined(simulated, tail, scope))[1] for scope in SCOPES]
        await settle()
        before = reads
        for _ in range(30):
            simulated.commit()
            simulated.notify()
            await settle()
    assert reads == before
    assert [reader.changes for reader in readers] == [
        [one for where, one in simulated.log if where == scope] for scope in SCOPES
    ]


async def test_a_restored_log_ends_streams_even_if_notices_follow_one_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The last change delivered is lost, and the new log has already passed its position."""
    simulated, [scope, other, _] = SimulatedLog(0), SCOPES
    monkeypatch.setattr(change_tail, "changes_after", simulated.changes_after)
    monkeypatch.setattr(simulated.rng, "random", lambda: 1.0)
    monkeypatch.setattr(simulated.rng, "randint", lambda *_: 1)
    simulated.log = [(scope, change(1)), (scope, change(2))]

    def follow() -> None:
        simulated.commit()
        simulated.notify()

    async with ChangeTail(cast("Any", None), simulated.watch) as tail:
        _, reader = await joined(simulated, tail, scope)
        for _ in range(2):
            follow()
            await settle()
        assert len(reader.changes) == 2
        simulated.log = [(scope, change(1)), *((other, change(n)) for n in range(2, 6))]
        simulated.position = 1
        simulated.lose_connection()
        simulated.poll()
        await settle()
        for _ in range(4):
            follow()
            await settle()
        simulated.log.append((scope, change(6)))
        follow()
        await settle()
    assert reader.is_replaced
    assert len(reader.changes) == 2
