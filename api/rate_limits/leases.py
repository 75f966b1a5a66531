"""Requests counted from leases: one call to the shared counter serves many requests.

All demands of a process go in one call, one call at a time; requests that arrive meanwhile wait for
the next call. Unused leases are returned within a second, so no request is refused for long because
of requests that another process has leased. A refusal is remembered only if it is final: nothing is
free, and no process has any to return.

While the counter is unavailable, every request passes at once.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import structlog
from prometheus_client import Counter as Metric
from prometheus_client import Gauge

from api.rate_limits.bucket import Bucket, LimitStatus
from write_side.store.rate_limits import WINDOW, Counter, Demand, Grant
from write_side.waiting import cancel

CALL_TIMEOUT = 2.0
"""Seconds until the counter counts as unreachable."""
STEPS = 8
"""Steps in which the timeout is waited for; a stall of this process takes one of them."""
RETRY = 1.0
"""Seconds between two attempts to reach the counter again."""
SWEEP = 0.25
MAX_LEASE_AGE = 0.75
"""Seconds after which the next sweep returns a lease, so that all are returned within a second."""
MAX_BUCKETS = 100_000
"""Buckets in memory; beyond this number the process forgets the oldest."""

AWAY = Gauge(
    "contentlog_rate_limit_counter_away",
    "1 while requests are served without counting",
    # With several workers: 1 if any live one reports it.
    multiprocess_mode="livemax",
)
UNCOUNTED = Metric("contentlog_rate_limit_uncounted", "Requests served without being counted")
T = TypeVar("T")
_log = structlog.get_logger("api.limits")


class Leases:
    """``clock`` is a monotonic one, in seconds."""

    def __init__(self, counter: Counter, clock: Callable[[], float] = time.monotonic) -> None:
        self._counter = counter
        self._clock = clock
        self._ahead = time.time() - clock()  # the counter's clock minus this process's
        self._window = 0
        self._expiring = False
        self._next_purge = 0.0
        self._buckets: OrderedDict[str, Bucket] = OrderedDict()
        self._leased: OrderedDict[str, Bucket] = OrderedDict()
        self._queued: dict[str, Bucket] = {}
        self._owing: dict[str, Bucket] = {}
        self._calls: asyncio.Task[None] | None = None
        self._sweeping: asyncio.Task[None] | None = None
        self._away_since: float | None = None

    async def __aenter__(self) -> Leases:
        self._sweeping = asyncio.create_task(self._keep_sweeping(), name="rate limit leases")
        return self

    async def __aexit__(self, *_: object) -> None:
        """Returns all leases."""
        assert self._sweeping is not None
        await cancel(self._sweeping)
        self.settle()
        self.give_back(0.0)
        if self._calls is not None:
            await self._calls
        await self._counter.close()

    async def count(self, name: str, limit: int, amount: int = 1) -> LimitStatus:
        """Counts one request, or its cost, against a bucket with this limit per window. A cost
        above the limit takes all of it."""
        bucket, amount = self._bucket(name, limit), min(amount, max(limit, 1))
        bucket.weighted |= amount > 1
        status = bucket.take_now(self._clock(), amount)
        if status is not None:
            return status
        if self._away_since is not None:
            UNCOUNTED.inc()
            return self.peek(name, limit)
        waiting = bucket.wait(amount, partial=False)
        self._enqueue(bucket)
        return await waiting

    def count_now(self, *buckets: tuple[str, int]) -> list[LimitStatus] | None:
        """Counts one request against each bucket (name and limit), if the leases suffice for all of
        them. None, with nothing counted, if it would have to wait or be refused."""
        now = self._clock()
        known = [self._bucket(name, limit) for name, limit in buckets]
        if not all(bucket.has(now, 1) for bucket in known):
            return None
        return [bucket.take(now, 1) for bucket in known]

    def charge(self, name: str, limit: int, amount: int) -> None:
        """Charges a cost that became known too late to refuse it, up to what the window has
        left."""
        bucket, amount = self._bucket(name, limit), min(amount, max(limit, 1))
        bucket.weighted = True
        now = self._clock()
        if bucket.take_now(now, amount) is not None or self._away_since is not None:
            return
        if bucket.owe(now, amount):
            self._owing[bucket.name] = bucket
        else:
            bucket.wait(amount, partial=True)
            self._enqueue(bucket)

    def is_short(self, name: str, limit: int) -> bool:
        """Whether the counter could not grant this window's last demand. False for a limit that is
        switched off: it has no bucket."""
        bucket = self._buckets.get(name)
        if bucket is None or bucket.limit != limit:
            return False
        return bucket.short and self._clock() < bucket.ends

    def peek(self, name: str, limit: int) -> LimitStatus:
        """The bucket as far as this process knows it, without counting a request."""
        now = self._clock()
        bucket = self._buckets.get(name)
        if bucket is not None and bucket.limit == limit and now < bucket.ends:
            return bucket.status(now, passed=True)
        return LimitStatus(True, limit, limit, self.reset())

    def reset(self) -> int:
        """The end of the window, in Unix seconds of the counter's clock."""
        return (int(self._clock() + self._ahead) // WINDOW + 1) * WINDOW

    def give_back(self, age: float = MAX_LEASE_AGE) -> None:
        """Returns the leases that are at least this many seconds old."""
        if self._away_since is not None:
            return
        now = self._clock()
        for bucket in list(self._leased.values()):
            if now - bucket.leased_at < age:
                break
            self._enqueue(bucket)

    def settle(self) -> None:
        """Requests the amounts that the buckets owe."""
        if self._away_since is not None:
            return
        owing, self._owing = self._owing, {}
        for bucket in owing.values():
            if bucket.owed:
                self._enqueue(bucket)

    def forget_ended(self) -> None:
        """Forgets the buckets whose window has ended, once per window."""
        now = self._clock()
        if now < self._next_purge:
            return
        self._next_purge = now + WINDOW
        for bucket in list(self._buckets.values()):
            if bucket.ends <= now and not bucket.busy:
                self._forget(bucket)

    async def check_if_back(self) -> None:
        if self._away_since is None or self._clock() - self._away_since < RETRY:
            return
        try:
            await self._lease([])
        except Exception:
            self._away_since = self._clock()
            return
        self._away_since = None
        AWAY.set(0)
        _log.info("rate limits are counted again")

    def _bucket(self, name: str, limit: int) -> Bucket:
        bucket = self._buckets.get(name) or self._add(name, limit)
        if bucket.limit != limit:
            bucket.limit, bucket.exhausted = limit, False
        return bucket

    def _add(self, name: str, limit: int) -> Bucket:
        if len(self._buckets) >= MAX_BUCKETS:
            oldest = next((one for one in self._buckets.values() if not one.busy), None)
            if oldest is not None:
                self._forget(oldest)
        bucket = self._buckets[name] = Bucket(name, limit, free=limit, calling_limit=limit)
        return bucket

    def _forget(self, bucket: Bucket) -> None:
        del self._buckets[bucket.name]
        self._leased.pop(bucket.name, None)

    def _enqueue(self, bucket: Bucket) -> None:
        self._queued[bucket.name] = bucket
        if self._calls is None or self._calls.done():
            self._calls = asyncio.create_task(self._run_calls(), name="rate limit calls")

    async def _run_calls(self) -> None:
        while self._queued or self._expiring:
            # Sorted, so that two processes do not deadlock in the counter.
            batch = [bucket for _, bucket in sorted(self._queued.items())]
            self._queued.clear()
            try:
                if batch:
                    await self._renew(batch)
            except Exception as error:
                self._let_pass(batch, error)
            if self._expiring:
                await self._expire()

    async def _expire(self) -> None:
        """A failure does not count as an unavailable counter; the next window tries again."""
        try:
            self._expiring = await _answer(self._counter.expire())
        except Exception as error:
            self._expiring = False
            _log.info("expired rate limits are not deleted yet", fault=repr(error))

    async def _renew(self, batch: list[Bucket]) -> None:
        for bucket in batch:
            self._leased.pop(bucket.name, None)
        began = self._clock()
        grants = await self._lease([bucket.demand() for bucket in batch])
        now = self._clock()
        for bucket, grant in zip(batch, grants, strict=True):
            bucket.receive(grant, began, now)
            if bucket.spare or bucket.left:
                self._leased[bucket.name] = bucket
            # If it was forgotten during the call, a new one of this name may wait for the next.
            if not bucket.waiting and self._queued.get(bucket.name) is bucket:
                del self._queued[bucket.name]

    async def _lease(self, demands: list[Demand]) -> list[Grant]:
        grants = await _answer(self._lease_or_retry(demands))
        if grants:
            self._ahead = grants[-1].at - self._clock()
            window = int(grants[-1].at // WINDOW) * WINDOW
            if window != self._window:
                # The first call in a new window deletes the buckets of other windows.
                self._window, self._expiring = window, True
        return grants

    async def _lease_or_retry(self, demands: list[Demand]) -> list[Grant]:
        try:
            return await self._counter.lease(demands)
        except Exception:
            # An idle connection may have been closed by the server.
            return await self._counter.lease([demand.for_retry() for demand in demands])

    def _let_pass(self, batch: list[Bucket], error: Exception) -> None:
        self._expiring = False
        if self._away_since is None:
            AWAY.set(1)
            _log.error("rate limits are not counted: the counter is unavailable", fault=repr(error))
        self._away_since = self._clock()
        for bucket in (*batch, *self._queued.values()):
            UNCOUNTED.inc(bucket.admit_all(self.peek(bucket.name, bucket.limit)))
        self._queued.clear()

    async def _keep_sweeping(self) -> None:
        while True:
            await asyncio.sleep(SWEEP)
            await self.check_if_back()
            self.settle()
            self.give_back()
            self.forget_ended()


async def _answer(call: Coroutine[Any, Any, T]) -> T:
    """The counter's response. Raises TimeoutError if the event loop has run for CALL_TIMEOUT
    without one.

    A deadline would also pass while the loop is blocked and the response is waiting to be read.
    """
    task = asyncio.ensure_future(call)
    try:
        for _ in range(STEPS):
            await asyncio.wait((task,), timeout=CALL_TIMEOUT / STEPS)
            if task.done():
                return task.result()
        raise TimeoutError
    finally:
        task.cancel()
