"""A bucket in one process: its lease, and the requests that wait for a lease."""

from __future__ import annotations

import asyncio
import math

from msgspec import Struct

from write_side.store.rate_limits import SHARE, WINDOW, Demand, Grant


class LimitStatus(Struct, frozen=True):
    """The state of a bucket, with or without counting a request.

    ``reset`` is the Unix second at which the window ends, ``wait`` the whole seconds until then, at
    least 1.
    """

    passed: bool
    limit: int
    remaining: int
    reset: int
    wait: int = 1


def stricter(first: LimitStatus, second: LimitStatus) -> LimitStatus:
    """The one that the response describes: that of the bucket that refused, or else of the one with
    the fewest requests left."""
    return second if not second.passed or second.remaining <= first.remaining else first


class Claim(Struct, eq=False):
    """What a request takes: all of ``amount`` or nothing. ``partial``: the part available so
    far."""

    amount: int
    partial: bool
    answer: asyncio.Future[LimitStatus]


class Bucket(Struct, eq=False):
    """Counts requests, or units of cost if claims can be of more than 1 (``weighted``).

    Times are of the process's monotonic clock; the lease is valid until ``ends``. ``left`` is the
    unused part of the lease, ``spare`` what the counter recorded as spare in this process, ``free``
    what it had left to lease. ``short``: it could not grant the last demand. ``exhausted``: none
    are free and no process has any to return. A weighted bucket is never certainly exhausted,
    because a refused claim returns the part that was granted. Claims in ``waiting`` go into the
    next call; those in ``calling`` are in the current one. ``owed`` is charged but not yet demanded
    from the counter.
    """

    name: str
    limit: int
    free: int
    calling_limit: int
    weighted: bool = False
    window: int = 0
    ends: float = -math.inf
    leased_at: float = 0.0
    left: int = 0
    owed: int = 0
    spare: int = 0
    short: bool = False
    exhausted: bool = False
    waiting: list[Claim] = []
    calling: list[Claim] = []

    @property
    def busy(self) -> bool:
        return bool(self.waiting or self.calling or self.owed)

    def take_now(self, now: float, amount: int) -> LimitStatus | None:
        """Takes an amount from the lease; None if the counter must be called."""
        if now >= self.ends:
            return None
        return self.take(now, amount) if self.left >= amount or self.exhausted else None

    def has(self, now: float, amount: int) -> bool:
        """Whether ``take_now`` would let it pass."""
        return now < self.ends and self.left >= amount

    def owe(self, now: float, amount: int) -> bool:
        """Charges an amount without asking for it yet. False where so much is owed already that
        requests might have to be refused: a share of what was free."""
        if now >= self.ends or (self.owed + amount) * SHARE > self.free:
            return False
        self.owed += amount
        return True

    def wait(self, amount: int, *, partial: bool) -> asyncio.Future[LimitStatus]:
        """Claims an amount in the next call."""
        answer: asyncio.Future[LimitStatus] = asyncio.get_running_loop().create_future()
        self.waiting.append(Claim(amount, partial, answer))
        return answer

    def status(self, now: float, *, passed: bool) -> LimitStatus:
        # The limit may have been lowered since the lease.
        remaining = min(self.free + self.left, self.limit)
        wait = 1 if passed else max(1, math.ceil(self.ends - now))
        return LimitStatus(passed, self.limit, remaining, self.window + WINDOW, wait)

    def demand(self) -> Demand:
        """Demands a lease for all waiting claims and for the amount owed, and returns what is left
        of the old one."""
        if self.owed:
            self.wait(self.owed, partial=True)
            self.owed = 0
        self.calling, self.waiting = self.waiting, []
        self.calling_limit = self.limit
        requested = sum(claim.amount for claim in self.calling)
        demand = Demand(self.name, self.limit, requested, self.window, self.spare, self.left)
        self.free += self.left
        self.left = self.spare = 0
        return demand

    def receive(self, grant: Grant, began: float, now: float) -> None:
        """Decides the claims of the call, which began at ``began``, in order, then those that
        arrived since, as far as the lease suffices."""
        self.window = grant.window
        # From the beginning of the call: a response that is read late must not extend the lease
        # beyond its window. If the counter's clock was set back, the window may be in the future.
        self.ends = began + min(max(0.0, grant.window + WINDOW - grant.at), WINDOW)
        self.leased_at = now
        self.free = grant.free
        requested = sum(claim.amount for claim in self.calling)
        if requested:
            self.short = grant.granted < requested
        # A refusal under an older limit does not apply to the current one.
        self.exhausted = (
            not self.weighted
            and grant.free == grant.spare == 0
            and self.calling_limit == self.limit
        )
        self.left = grant.granted
        self.spare = max(grant.granted - requested, 0)
        calling, self.calling = self.calling, []
        for claim in calling:
            self._answer(claim, now)
        while self.waiting and now < self.ends:
            if self.left < self.waiting[0].amount and not self.exhausted:
                break
            self._answer(self.waiting.pop(0), now)

    def admit_all(self, status: LimitStatus) -> int:
        """Lets all waiting claims pass uncounted. Returns the number of requests."""
        unanswered = [one for one in self.calling + self.waiting if not one.answer.done()]
        self.calling, self.waiting = [], []
        for claim in unanswered:
            claim.answer.set_result(status)
        return sum(not claim.partial for claim in unanswered)

    def _answer(self, claim: Claim, now: float) -> None:
        if not claim.answer.done():
            amount = min(claim.amount, self.left) if claim.partial else claim.amount
            claim.answer.set_result(self.take(now, amount))

    def take(self, now: float, amount: int) -> LimitStatus:
        passed = self.left >= amount
        self.left -= amount * passed
        return self.status(now, passed=passed)
