"""The counter of the only process there is."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from api.rate_limits.counter import WINDOW, Demand, Grant, block


class _Held:
    __slots__ = ("leased", "spare", "window")

    def __init__(self, window: int) -> None:
        self.window = window
        self.leased = 0
        self.spare = 0


class MemoryCounter:
    """A Counter. ``clock`` tells Unix seconds."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._held: dict[str, _Held] = {}

    async def lease(self, demands: Sequence[Demand]) -> list[Grant]:
        return [self._lease(demand) for demand in demands]

    async def expire(self, window: int) -> bool:
        self._held = {name: held for name, held in self._held.items() if held.window >= window}
        return False

    async def close(self) -> None:
        """Nothing to let go of."""

    def _lease(self, demand: Demand) -> Grant:
        at = self._clock()
        window = int(at // WINDOW) * WINDOW
        held = self._held.get(demand.bucket)
        if held is None or held.window < window:
            held = self._held[demand.bucket] = _Held(window)
        if held.window == demand.window:
            held.leased = max(held.leased - demand.unused, 0)
            held.spare = max(held.spare - demand.spare, 0)
        granted = block(demand.limit - held.leased, demand.asked)
        held.leased += granted
        held.spare += max(granted - demand.asked, 0)
        return Grant(held.window, granted, max(demand.limit - held.leased, 0), held.spare, at)
