"""How many bytes each client may hold."""

from __future__ import annotations

import asyncio

import pytest

from api.errors import Busy
from api.http import large_bodies
from api.http.large_bodies import ByteBudget
from tests.unit.api.counter_doubles import settled


async def test_a_workspace_can_take_at_most_half() -> None:
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


async def test_a_waiting_response_takes_returned_bytes() -> None:
    budget = ByteBudget(100)
    budget.take("acme", 50)
    waiting = asyncio.create_task(budget.wait_and_take("acme", 20))
    await settled()
    await budget.wait_and_take("rival", 50)
    assert not waiting.done(), "others do not wait for it"
    await budget.give_back("acme", 50)
    await waiting
    assert budget.taken == 70


async def test_a_response_that_waits_too_long_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(large_bodies, "PATIENCE", 0.01)
    budget = ByteBudget(100)
    with pytest.raises(Busy):
        await budget.wait_and_take("acme", 51)
    assert budget.taken == 0
