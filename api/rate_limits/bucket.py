"""A bucket in one process: its lease, and the requests that wait for a lease."""

from __future__ import annotations

import asyncio
import math

from msgspec import Struct

from write_side.store.rate_limits import WINDOW, Demand, Grant


class LimitStatus(Struct, frozen=True):
    """The state of a bucket, after a request was counted or without counting one.

    ``reset`` is the Unix second at which the window ends, ``wait`` the whole seconds until then,
    at least 1.
    """

    passed: bool
    limit: int
    remaining: int
    reset: int
    wait: int = 1


class Bucket(Struct, eq=False):
    """Times are of the process's monotonic clock; the lease is valid until ``ends``.

    ``left`` are the leased requests at hand, ``spare`` what the counter recorded as spare here,
    ``free`` what it had left to lease. ``exhausted``: none are free, and no process has any to
    give back. Requests in ``waiting`` go into the next call; those in ``calling`` are in the
    current one.
    """

    name: str
    limit: int
    free: int
    calling_limit: int
    window: int = 0
    ends: float = -math.inf
    leased_at: float = 0.0
    left: int = 0
    spare: int = 0
    exhausted: bool = False
    waiting: list[asyncio.Future[LimitStatus]] = []
    calling: list[asyncio.Future[LimitStatus]] = []

    @property
    def busy(self) -> bool:
        return bool(self.waiting or self.calling)

    def count_now(self, now: float) -> LimitStatus | None:
        """Counts one request against the lease; None if the counter must be asked."""
        if now >= self.ends:
            return None
        return self._take(now) if self.left > 0 or self.exhausted else None

    def status(self, now: float, *, passed: bool) -> LimitStatus:
        # The limit may have been lowered since the lease.
        remaining = min(self.free + self.left, self.limit)
        wait = 1 if passed else max(1, math.ceil(self.ends - now))
        return LimitStatus(passed, self.limit, remaining, self.window + WINDOW, wait)

    def demand(self) -> Demand:
        """Asks for a lease for all waiting requests, and gives back what is left of the old one."""
        self.calling, self.waiting = self.waiting, []
        self.calling_limit = self.limit
        asked = len(self.calling)
        demand = Demand(self.name, self.limit, asked, self.window, self.spare, self.left)
        self.free += self.left
        self.left = self.spare = 0
        return demand

    def receive(self, grant: Grant, now: float) -> None:
        """Answers the requests of the call in order, then those that arrived since, as far as the
        lease goes."""
        self.window = grant.window
        self.ends = now + max(0.0, grant.window + WINDOW - grant.at)
        self.leased_at = now
        self.free = grant.free
        # A refusal under an older limit says nothing about the current one.
        self.exhausted = grant.free == grant.spare == 0 and self.calling_limit == self.limit
        self.left = grant.granted
        self.spare = max(grant.granted - len(self.calling), 0)
        calling, self.calling = self.calling, []
        for future in calling:
            self._answer(future, now)
        while self.waiting and (self.left or self.exhausted):
            self._answer(self.waiting.pop(0), now)

    def let_pass(self, status: LimitStatus) -> int:
        """Lets all waiting requests pass uncounted. Returns their number."""
        unanswered = [future for future in self.calling + self.waiting if not future.done()]
        self.calling, self.waiting = [], []
        for future in unanswered:
            future.set_result(status)
        return len(unanswered)

    def _answer(self, future: asyncio.Future[LimitStatus], now: float) -> None:
        if not future.done():
            future.set_result(self._take(now))

    def _take(self, now: float) -> LimitStatus:
        passed = self.left > 0
        self.left -= passed
        return self.status(now, passed=passed)
