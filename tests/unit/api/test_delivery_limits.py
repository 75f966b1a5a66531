"""The limits of concurrent webhook deliveries."""

from __future__ import annotations

import asyncio

import pytest

from api.webhooks.endpoint_task import DeliveryLimits
from tests.unit.api.counter_doubles import settled
from write_side.domain.webhook import MOST_WEBHOOKS


@pytest.mark.parametrize("attempt", [0, 1])
async def test_endpoints_that_hang_leave_room_for_other_workspaces(attempt: int) -> None:
    limits, end = DeliveryLimits(), asyncio.Event()

    async def hang(workspace: str) -> None:
        while True:
            async with limits.turn(workspace, attempt):
                await end.wait()

    async def deliver() -> None:
        async with limits.turn("other", attempt):
            pass

    hanging = [
        asyncio.create_task(hang(f"slow-{number}"))
        for number in range(11)
        for _ in range(MOST_WEBHOOKS)
    ]
    await settled()
    delivery = asyncio.create_task(deliver())
    await settled()
    # The deliveries that have begun end together, before others are tried.
    ended, end = end, asyncio.Event()
    ended.set()
    await settled()
    assert delivery.done()
    async with asyncio.timeout(0.1):
        await deliver()
    for task in hanging:
        task.cancel()
    await asyncio.gather(*hanging, return_exceptions=True)
