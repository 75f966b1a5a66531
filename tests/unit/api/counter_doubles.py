"""Test doubles for rate limits: a clock set by hand, a reference model of the counter, and a
counter that can be delayed or fail."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

from msgspec import Struct

from write_side.store.rate_limits import FEW, MOST, SHARE, WINDOW, Counter, Demand, Grant

NOON = 1_800_000_000
"""The start of a window, in Unix seconds."""


class Clock:
    """Returns the seconds since NOON; tests set ``now``."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def unix(self) -> float:
        return NOON + self.now


class Held(Struct):
    window: int
    leased: int = 0
    spare: int = 0


class ModelCounter(Counter):
    """A short reference model that the database must agree with. ``clock`` returns Unix seconds."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._held: dict[str, Held] = {}

    async def lease(self, demands: Sequence[Demand]) -> list[Grant]:
        return [self._lease(demand) for demand in demands]

    def present(self) -> int:
        return int(self._clock() // WINDOW) * WINDOW

    async def expire(self) -> bool:
        window = self.present()
        self._held = {
            name: held
            for name, held in self._held.items()
            if window <= held.window <= window + WINDOW
        }
        return False

    async def close(self) -> None:
        """There is no connection to close."""

    def _lease(self, demand: Demand) -> Grant:
        at, window = self._clock(), self.present()
        held = self._held.get(demand.bucket)
        if held is None or held.window < window:
            held = self._held[demand.bucket] = Held(window)
        if held.window == demand.window:
            held.leased = max(held.leased - demand.unused, 0)
            held.spare = max(held.spare - demand.spare, 0)
        granted = block(demand.limit - held.leased, demand.requested)
        held.leased += granted
        held.spare += max(granted - demand.requested, 0)
        return Grant(held.window, granted, max(demand.limit - held.leased, 0), held.spare, at)


def block(free: int, requested: int) -> int:
    """Returns how many of the free requests are granted to a demand."""
    if requested == 0 or free <= 0:
        return 0
    if free < FEW:
        return min(free, requested)
    return min(free, requested + min(max(free - requested, 0) // SHARE, MOST))


class FakeCounter(ModelCounter):
    """Records the demands of each call in ``calls``."""

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

    async def expire(self) -> bool:
        self.expired.append(self.present())
        return await super().expire()

    def free(self, bucket: str, limit: int) -> int:
        return limit - self._held[bucket].leased


async def settled() -> None:
    """Lets other tasks run until they can only wait for the clock."""
    for _ in range(20):
        await asyncio.sleep(0)
