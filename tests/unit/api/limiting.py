"""A clock turned by hand, and a counter that can be held up or taken away."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from api.rate_limits.counter import Demand, Grant
from api.rate_limits.in_memory import MemoryCounter

NOON = 1_800_000_000
"""A window begins here."""


class Clock:
    """Seconds since NOON."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def unix(self) -> float:
        return NOON + self.now


class FakeCounter(MemoryCounter):
    """``calls`` are the demands of each call."""

    def __init__(self, clock: Callable[[], float]) -> None:
        super().__init__(clock)
        self.calls: list[list[Demand]] = []
        self.expired: list[int] = []
        self.open = asyncio.Event()
        self.open.set()
        self.away = False
        self.loses = 0

    async def lease(self, demands: Sequence[Demand]) -> list[Grant]:
        self.calls.append(list(demands))
        await self.open.wait()
        if self.away:
            raise ConnectionRefusedError("away")
        grants = await super().lease(demands)
        if self.loses:
            self.loses -= 1
            raise ConnectionResetError("the answer is lost")
        return grants

    async def expire(self, window: int) -> bool:
        self.expired.append(window)
        return await super().expire(window)

    def free(self, bucket: str, limit: int) -> int:
        return limit - self._held[bucket].leased


async def settled() -> None:
    """Until tasks that need no clock have done what they can."""
    for _ in range(20):
        await asyncio.sleep(0)
