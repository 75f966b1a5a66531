"""Who may hold how much, and whose turn it is."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest

from api.errors import Busy
from api.http import byte_budget
from api.http.byte_budget import ByteBudget, Turns
from tests.unit.api.counter_doubles import settled


async def test_a_workspace_takes_half_and_leaves_the_other_half() -> None:
    budget = ByteBudget(100)
    assert [budget.take("acme", 30), budget.take("acme", 30), budget.take("rival", 50)] == [
        True,
        False,
        True,
    ]
    assert not budget.take("third", 30)
    assert budget.taken == 80
    await budget.give_back("rival", 50)
    assert budget.take("third", 30)


async def test_who_waits_takes_what_comes_back() -> None:
    budget = ByteBudget(100)
    budget.take("acme", 50)
    waiting = asyncio.create_task(budget.wait_and_take("acme", 20))
    await settled()
    await budget.wait_and_take("rival", 50)
    assert not waiting.done(), "others do not wait for it"
    await budget.give_back("acme", 50)
    await waiting
    assert budget.taken == 70


async def test_who_waits_too_long_is_refused_and_takes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(byte_budget, "PATIENCE", 0.01)
    budget = ByteBudget(100)
    with pytest.raises(Busy):
        await budget.wait_and_take("acme", 51)
    assert budget.taken == 0


class Line:
    """Tasks that want a turn, and those that have it, in order."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._ends: dict[str, asyncio.Event] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self.working: list[str] = []

    async def add(self, *names: str) -> None:
        for name in names:
            self._ends[name] = asyncio.Event()
            self.tasks[name] = asyncio.create_task(self._work(name))
        await settled()

    async def end(self, name: str) -> None:
        self._ends[name].set()
        await self.tasks[name]
        await settled()

    async def _work(self, name: str) -> None:
        async with self._turns.turn(name[0]):
            self.working.append(name)
            await self._ends[name].wait()
            self.working.remove(name)


async def test_a_workspace_has_one_turn_at_a_time_and_the_others_go_round() -> None:
    line = Line(Turns(2))
    await line.add("a1", "a2", "a3", "b1", "b2", "c1")
    assert line.working == ["a1", "b1"]
    await line.end("a1")
    assert line.working == ["b1", "c1"], "a workspace that has had a turn goes behind the others"
    await line.end("b1")
    assert line.working == ["c1", "a2"]
    await line.end("c1")
    assert line.working == ["a2", "b2"]
    for name in ("a2", "b2", "a3"):
        await line.end(name)
    assert line.working == []


async def test_who_gives_up_leaves_the_line() -> None:
    line = Line(Turns(1))
    await line.add("a1", "b1", "c1")
    line.tasks["b1"].cancel()
    await settled()
    await line.end("a1")
    assert line.working == ["c1"]
    await line.end("c1")
    await line.add("b2")
    assert line.working == ["b2"]


async def test_a_turn_that_does_not_come_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(byte_budget, "PATIENCE", 0.01)
    turns = Turns(1)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(turns.turn("acme"))
        with pytest.raises(Busy):
            await stack.enter_async_context(turns.turn("acme"))
    async with turns.turn("acme"):
        """It is free again."""
