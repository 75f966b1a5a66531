"""How many bytes each client may hold."""

from __future__ import annotations

import asyncio

import pytest

from api.errors import Busy
from api.http import large_bodies
from api.http.large_bodies import ByteBudget
from tests.unit.api.counter_doubles import settled


def test_a_workspace_can_take_half_of_what_the_others_leave() -> None:
    budget = ByteBudget(100)
    for workspace, share in (("acme", 50), ("rival", 25), ("third", 12), ("fourth", 6)):
        assert not budget.take(workspace, share + 1)
        assert budget.take(workspace, 1)
        assert budget.take(workspace, share - 1)
        assert not budget.take(workspace, 1)
    assert budget.used == 93
    budget.give_back("acme", 50)
    assert budget.take("fourth", 10)


async def test_a_waiting_response_takes_returned_bytes() -> None:
    budget = ByteBudget(100)
    budget.take("acme", 50)
    waiting = asyncio.create_task(budget.wait_and_take("acme", 20))
    await settled()
    await budget.wait_and_take("rival", 25)
    assert not waiting.done(), "others do not wait for it"
    budget.give_back("acme", 50)
    await waiting
    assert budget.used == 45


async def test_a_response_that_waits_too_long_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(large_bodies, "PATIENCE", 0.01)
    budget = ByteBudget(100)
    with pytest.raises(Busy):
        await budget.wait_and_take("acme", 51)
    assert budget.used == 0
