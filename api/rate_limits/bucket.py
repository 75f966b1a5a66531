"""What one process knows of one bucket: its lease, and who waits for one."""

from __future__ import annotations

import asyncio
import math

from msgspec import Struct

from api.rate_limits.counter import WINDOW, Demand, Grant


class LimitStatus(Struct, frozen=True):
    """How a bucket stands after a request was counted, or without.

    ``reset`` is the Unix second at which the window ends, ``wait`` the whole seconds until then,
    at least 1.
    """

    passed: bool
    limit: int
    remaining: int
    reset: int
    wait: int = 1


class Bucket:
    """Times are of the process's own steady clock. The lease is good until ``ends``.

    ``left`` are the leased requests at hand, ``spare`` what the counter holds to be spare with us,
    ``free`` what it had left to lease. ``spent``: none are free, and nobody has any to give back.
    """

    __slots__ = (
        "asked_limit",
        "asking",
        "ends",
        "free",
        "leased_at",
        "left",
        "limit",
        "name",
        "spare",
        "spent",
        "waiting",
        "window",
    )

    def __init__(self, name: str, limit: int) -> None:
        self.name = name
        self.limit = limit
        self.window = 0
        self.ends = -math.inf
        self.leased_at = 0.0
        self.left = 0
        self.spare = 0
        self.free = limit
        self.spent = False
        self.asked_limit = limit
        self.waiting: list[asyncio.Future[LimitStatus]] = []
        self.asking: list[asyncio.Future[LimitStatus]] = []

    @property
    def busy(self) -> bool:
        return bool(self.waiting or self.asking)

    def at_once(self, now: float) -> LimitStatus | None:
        """The answer to one more request, if it is at hand; it is counted then."""
        if now >= self.ends:
            return None
        if self.left > 0:
            self.left -= 1
            return self.standing(now, passed=True)
        return self.standing(now, passed=False) if self.spent else None

    def standing(self, now: float, *, passed: bool) -> LimitStatus:
        # The limit may have been lowered since.
        remaining = min(self.free + self.left, self.limit)
        if passed:
            return LimitStatus(True, self.limit, remaining, self.window + WINDOW)
        wait = max(1, math.ceil(self.ends - now))
        return LimitStatus(False, self.limit, remaining, self.window + WINDOW, wait)

    def demand(self) -> Demand:
        """Ask for all who wait, and give back what is at hand: from now on it is not ours."""
        self.asking, self.waiting = self.waiting, []
        self.asked_limit = self.limit
        demand = Demand(self.name, self.limit, len(self.asking), self.window, self.spare, self.left)
        self.free += self.left
        self.left = self.spare = 0
        return demand

    def receive(self, grant: Grant, now: float) -> None:
        """Serve all who asked, in order, and those who have come meanwhile as far as it goes."""
        self.window = grant.window
        self.ends = now + max(0.0, grant.window + WINDOW - grant.at)
        self.leased_at = now
        self.free = grant.free
        self.spent = grant.free == grant.spare == 0 and self.asked_limit == self.limit
        self.left = grant.granted
        self.spare = max(grant.granted - len(self.asking), 0)
        asking, self.asking = self.asking, []
        for future in asking:
            if not future.done():
                future.set_result(self._next(now))
        while self.waiting and (self.left or self.spent):
            future = self.waiting.pop(0)
            if not future.done():
                future.set_result(self._next(now))

    def _next(self, now: float) -> LimitStatus:
        if self.left == 0:
            return self.standing(now, passed=False)
        self.left -= 1
        return self.standing(now, passed=True)

    def let_pass(self, standing: LimitStatus) -> int:
        """Nothing can be asked now: all who wait are served. Returns how many they were."""
        served = [future for future in self.asking + self.waiting if not future.done()]
        self.asking, self.waiting = [], []
        for future in served:
            future.set_result(standing)
        return len(served)
