"""Counts, times and other metrics of requests, passed to prometheus_client in batches.

Each of its increments is a write to a file that workers share: four for a request, or for a batch
of requests of the same kind.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections import Counter as Numbers
from collections.abc import Sequence
from functools import cache

from aiohttp.hdrs import METH_ALL
from prometheus_client import Counter, Gauge, Histogram

DELAY = 0.1
"""Seconds for which counts may wait."""
BOUNDS = (0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class BatchHistogram(Histogram):
    def add(self, numbers: Sequence[int], total: float) -> None:
        """Observations by bucket, the last above all bounds, and the sum of their values."""
        self._sum.inc(total)
        for bucket, number in zip(self._buckets, numbers, strict=True):
            if number:
                bucket.inc(number)


REQUESTS = Counter(
    "contentlog_requests", "Requests by route and status", ["method", "route", "status"]
)
SECONDS = BatchHistogram(
    "contentlog_request_seconds", "Response time by route", ["route"], buckets=BOUNDS
)
# Looking up labels costs more than counting, and there are few combinations.
_requests = cache(REQUESTS.labels)
_seconds = cache(SECONDS.labels)


class Times:
    """The response times of one route."""

    def __init__(self) -> None:
        self.numbers = [0] * (len(BOUNDS) + 1)
        self.total = 0.0


class RequestCounts:
    """Counts that are not yet passed to prometheus_client. ``others``: increments of metrics
    without labels, passed on with the next request that is counted."""

    def __init__(self) -> None:
        self.others: Numbers[Counter | Gauge] = Numbers()
        self._requests: Numbers[tuple[str, str, int]] = Numbers()
        self._times: dict[str, Times] = {}
        # The loop that is going to flush.
        self._loop: asyncio.AbstractEventLoop | None = None

    def add(self, method: str, route: str, status: int, seconds: float) -> None:
        self._requests[method if method in METH_ALL else "other", route, status] += 1
        times = self._times.get(route) or self._times.setdefault(route, Times())
        times.numbers[bisect_left(BOUNDS, seconds)] += 1
        times.total += seconds
        if self._loop is None or self._loop.is_closed():
            self._loop = asyncio.get_running_loop()
            self._loop.call_later(DELAY, self.flush)

    def flush(self) -> None:
        requests, times, others = self._requests, self._times, self.others
        self._requests, self._times, self.others, self._loop = Numbers(), {}, Numbers(), None
        for labels, number in requests.items():
            _requests(*labels).inc(number)
        for route, those in times.items():
            _seconds(route).add(those.numbers, those.total)
        for metric, number in others.items():
            metric.inc(number)


COUNTS = RequestCounts()
