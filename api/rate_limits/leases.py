"""Requests counted from leases: the shared counter is asked once for many of them.

Everything that a process wants to ask goes in one call, and one call at a time: whoever comes
while it is under way waits for the next one. A lease that is not used up is given back within a
second, so that nobody is refused for long while another holds what it does not need. A refusal is
remembered only when it is final: nothing is free, and no process has any to give back.

While the counter is out of reach every request passes, and nobody waits for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import OrderedDict
from collections.abc import Callable

import structlog
from prometheus_client import Counter as Metric
from prometheus_client import Gauge

from api.rate_limits.bucket import Bucket, LimitStatus
from api.rate_limits.counter import WINDOW, Counter, Demand, Grant

PATIENCE = 2.0
"""Seconds until the counter counts as out of reach."""
RETRY = 1.0
"""Seconds between two looks whether it is back."""
SWEEP = 0.25
KEPT = 0.75
"""A lease older than this is given back by the next sweep: all of them within a second."""
REMEMBERED = 100_000
"""Buckets; beyond them this process forgets those that it has known longest."""

AWAY = Gauge(
    "contentlog_rate_limit_counter_away",
    "1 while requests are served without counting",
    # Of several workers: 1 where one that lives says so.
    multiprocess_mode="livemax",
)
UNCOUNTED = Metric("contentlog_rate_limit_uncounted", "Requests served without being counted")
_log = structlog.get_logger("api.limits")


class Leases:
    """``clock`` is a steady one, in seconds."""

    def __init__(self, counter: Counter, clock: Callable[[], float] = time.monotonic) -> None:
        self._counter = counter
        self._clock = clock
        self._ahead = time.time() - clock()  # of our clock, the counter's
        self._window = 0
        self._expiring = False
        self._purge_at = 0.0
        self._buckets: OrderedDict[str, Bucket] = OrderedDict()
        self._leased: OrderedDict[str, Bucket] = OrderedDict()
        self._wanted: dict[str, Bucket] = {}
        self._sending: asyncio.Task[None] | None = None
        self._sweeping: asyncio.Task[None] | None = None
        self._away_since: float | None = None

    async def __aenter__(self) -> Leases:
        self._sweeping = asyncio.create_task(self._sweep_for_ever(), name="rate limit leases")
        return self

    async def __aexit__(self, *_: object) -> None:
        """Gives everything back, if that is quickly done."""
        assert self._sweeping is not None
        self._sweeping.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._sweeping
        self.give_back(0.0)
        if self._sending is not None:
            await self._sending
        await self._counter.close()

    async def count(self, name: str, limit: int) -> LimitStatus:
        """Count one request against a bucket of so many a window."""
        now = self._clock()
        bucket = self._buckets.get(name)
        if bucket is None or bucket.limit != limit:
            bucket = self._known(name, limit)
        standing = bucket.at_once(now)
        if standing is not None:
            return standing
        if self._away_since is not None:
            UNCOUNTED.inc()
            return self.look(name, limit)
        waiting: asyncio.Future[LimitStatus] = asyncio.get_running_loop().create_future()
        bucket.waiting.append(waiting)
        self._want(bucket)
        return await waiting

    def look(self, name: str, limit: int) -> LimitStatus:
        """How a bucket stands as far as this process knows, without counting."""
        now = self._clock()
        bucket = self._buckets.get(name)
        if bucket is not None and bucket.limit == limit and now < bucket.ends:
            return bucket.standing(now, passed=True)
        return LimitStatus(True, limit, limit, self.reset())

    def reset(self) -> int:
        """When the window ends, as Unix seconds of the counter's clock."""
        return (int(self._clock() + self._ahead) // WINDOW + 1) * WINDOW

    def give_back(self, age: float = KEPT) -> None:
        """Ask the counter to take back leases that are older than so many seconds."""
        if self._away_since is not None:
            return
        now = self._clock()
        for bucket in list(self._leased.values()):
            if now - bucket.leased_at < age:
                break
            self._want(bucket)

    def forget_old(self) -> None:
        """Forget the buckets of windows that have ended."""
        now = self._clock()
        if now < self._purge_at:
            return
        self._purge_at = now + WINDOW
        for bucket in list(self._buckets.values()):
            if bucket.ends <= now and not bucket.busy:
                self._forget(bucket)

    async def look_whether_it_is_back(self) -> None:
        if self._away_since is None or self._clock() - self._away_since < RETRY:
            return
        try:
            await self._ask([])
        except Exception:
            self._away_since = self._clock()
            return
        self._away_since = None
        AWAY.set(0)
        _log.info("rate limits are counted again")

    def _known(self, name: str, limit: int) -> Bucket:
        """The process's bucket of this name, made where there is none; its limit may change."""
        bucket = self._buckets.get(name)
        if bucket is None:
            if len(self._buckets) >= REMEMBERED:
                oldest = next(iter(self._buckets.values()))
                if not oldest.busy:
                    self._forget(oldest)
            bucket = self._buckets[name] = Bucket(name, limit)
        elif bucket.limit != limit:
            bucket.limit, bucket.spent = limit, False
        return bucket

    def _forget(self, bucket: Bucket) -> None:
        del self._buckets[bucket.name]
        self._leased.pop(bucket.name, None)

    def _want(self, bucket: Bucket) -> None:
        self._wanted[bucket.name] = bucket
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send(), name="rate limit demands")

    async def _send(self) -> None:
        while self._wanted or self._expiring:
            # Sorted, as the counter wants them: two processes must not wait for each other.
            batch = [bucket for _, bucket in sorted(self._wanted.items())]
            self._wanted.clear()
            try:
                if batch:
                    await self._lease(batch)
            except Exception as error:
                self._give_up(batch, error)
            if self._expiring:
                await self._expire()

    async def _expire(self) -> None:
        """That it fails says nothing of the counter: the next window's first tries again."""
        try:
            async with asyncio.timeout(PATIENCE):
                self._expiring = await self._counter.expire(self._window)
        except Exception as error:
            self._expiring = False
            _log.info("expired rate limits are not forgotten yet", fault=repr(error))

    async def _lease(self, batch: list[Bucket]) -> None:
        for bucket in batch:
            self._leased.pop(bucket.name, None)
        grants = await self._ask([bucket.demand() for bucket in batch])
        now = self._clock()
        for bucket, grant in zip(batch, grants, strict=True):
            bucket.receive(grant, now)
            if bucket.spare:
                self._leased[bucket.name] = bucket
            if not bucket.waiting:
                self._wanted.pop(bucket.name, None)

    async def _ask(self, demands: list[Demand]) -> list[Grant]:
        async with asyncio.timeout(PATIENCE):
            try:
                grants = await self._counter.lease(demands)
            except Exception:
                # Perhaps just an old connection that has died.
                grants = await self._counter.lease([demand.anew() for demand in demands])
        if grants:
            self._ahead = grants[-1].at - self._clock()
            window = max(grant.window for grant in grants)
            if window > self._window:
                # Whoever comes first in a new window tidies up after the old ones.
                self._window, self._expiring = window, True
        return grants

    def _give_up(self, batch: list[Bucket], error: Exception) -> None:
        self._expiring = False
        if self._away_since is None:
            AWAY.set(1)
            _log.error("rate limits are not counted: out of reach", fault=repr(error))
        self._away_since = self._clock()
        for bucket in (*batch, *self._wanted.values()):
            UNCOUNTED.inc(bucket.let_pass(self.look(bucket.name, bucket.limit)))
        self._wanted.clear()

    async def _sweep_for_ever(self) -> None:
        while True:
            await asyncio.sleep(SWEEP)
            await self.look_whether_it_is_back()
            self.give_back()
            self.forget_old()
