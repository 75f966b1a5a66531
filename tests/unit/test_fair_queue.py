"""Which client gets the next turn, and which requests are refused."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest

from tests.unit.api.counter_doubles import settled
from write_side import fair_queue
from write_side.fair_queue import FairQueue, Overloaded


class Line:
    """``tasks`` wait for a turn or have one; ``working`` lists those that have one, in order."""

    def __init__(self, turns: FairQueue) -> None:
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


async def test_a_client_has_one_turn_at_a_time_and_others_rotate() -> None:
    line = Line(FairQueue(2))
    await line.add("a1", "a2", "a3", "b1", "b2", "c1")
    assert line.working == ["a1", "b1"]
    await line.end("a1")
    assert line.working == ["b1", "c1"], "a client that has had a turn goes behind the others"
    await line.end("b1")
    assert line.working == ["c1", "a2"]
    await line.end("c1")
    assert line.working == ["a2", "b2"]
    for name in ("a2", "b2", "a3"):
        await line.end(name)
    assert line.working == []


async def test_a_client_may_have_half_of_what_the_others_leave() -> None:
    line = Line(FairQueue(8, per_client=None))
    await line.add("a1", "a2", "a3", "a4", "a5", "b1", "b2", "b3", "c1")
    assert line.working == ["a1", "a2", "a3", "a4", "b1", "b2", "c1"]
    for name in ("a1", "a2", "a3"):
        await line.end(name)
    assert line.working == ["a4", "b1", "b2", "c1", "b3", "a5"]


async def test_a_client_may_have_several_turns_while_some_are_left_for_others() -> None:
    line = Line(FairQueue(3, per_client=2))
    await line.add("a1", "a2", "a3", "b1", "b2")
    assert line.working == ["a1", "a2", "b1"]
    await line.end("a1")
    assert line.working == ["a2", "b1", "b2"]
    for name in ("b1", "a2", "b2", "a3"):
        await line.end(name)
    assert line.working == []


async def test_a_cancelled_client_leaves_the_queue() -> None:
    line = Line(FairQueue(1))
    await line.add("a1", "b1", "c1")
    line.tasks["b1"].cancel()
    await settled()
    await line.end("a1")
    assert line.working == ["c1"]
    await line.end("c1")
    await line.add("b2")
    assert line.working == ["b2"]


async def test_a_turn_that_does_not_come_in_time_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fair_queue, "PATIENCE", 0.01)
    turns = FairQueue(1)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(turns.turn("acme"))
        with pytest.raises(Overloaded):
            await stack.enter_async_context(turns.turn("acme"))
    async with turns.turn("acme"):
        """The turn is free again."""


async def test_one_among_fifty_of_another_client_is_second() -> None:
    turns, order = FairQueue(1), list[str]()

    async def piece(client: str) -> None:
        async with turns.turn(client):
            order.append(client)
            await asyncio.sleep(0)

    await asyncio.gather(*(piece(client) for client in ["attacker"] * 50 + ["victim"]))
    assert order.index("victim") == 1
    assert len(order) == 51


async def test_a_client_waits_for_a_bounded_number_of_turns() -> None:
    line = Line(FairQueue(1, waiting=2))
    await line.add("a1", "a2", "a3", "a4", "b1")
    with pytest.raises(Overloaded):
        await line.tasks["a4"]
    await line.end("a1")
    assert line.working == ["b1"], "who waits for few is not refused"
    await line.end("b1")
    await line.end("a2")
    await line.add("a5")
    await line.end("a3")
    assert line.working == ["a5"], "there is room again"
    await line.end("a5")
