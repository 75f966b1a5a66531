"""The lag and the rate of the projector in the last 15 minutes, and their charts.

Each API process takes its own samples and keeps them in memory, so the charts are empty after a
start.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Sequence
from itertools import groupby, pairwise

import structlog
from aiohttp import web
from msgspec import Struct

from api.operations.health import STATUS, ServiceStatus
from write_side.postgres.faults import FaultLog
from write_side.waiting import cancel_all

_log = structlog.get_logger("api.lag_history")
WINDOW = 15 * 60.0
INTERVAL = 5.0
"""Seconds between two samples."""
WIDTH, HEIGHT = 300.0, 60.0
"""The size of a chart, in its own units."""


class Sample(Struct, frozen=True):
    """``at``: seconds of a monotonic clock; ``lag``: seconds, None if it was not known."""

    at: float
    position: int | None
    lag: float | None


class Chart(Struct, frozen=True):
    """``lines`` are points of SVG polylines; ``latest`` is None if the newest value is unknown."""

    lines: list[str]
    highest: float
    latest: float | None


class LagHistory:
    """The samples of one window; older ones are dropped."""

    def __init__(self) -> None:
        self._samples: deque[Sample] = deque(maxlen=int(WINDOW / INTERVAL))

    def take(self, status: ServiceStatus, at: float) -> None:
        position = status.model.position if status.model else None
        self._samples.append(Sample(at, position, status.behind.seconds if status.behind else None))

    def lag(self, now: float) -> Chart | None:
        """In seconds; None with fewer than two samples."""
        return _chart([(sample.at, sample.lag) for sample in self._samples], now)

    def rate(self, now: float) -> Chart | None:
        """Projected events per second; None with fewer than three samples."""
        pairs = pairwise(self._samples)
        return _chart([(after.at, _rate(before, after)) for before, after in pairs], now)


HISTORY = web.AppKey("lag_history", LagHistory)


async def sampling(app: web.Application) -> AsyncIterator[None]:
    """For ``cleanup_ctx``."""
    task = asyncio.create_task(_sample(app), name="lag history")
    yield
    await cancel_all(task)


async def _sample(app: web.Application) -> None:
    faults = FaultLog(_log, "lag cannot be sampled")
    while True:
        await asyncio.sleep(INTERVAL)
        try:
            app[HISTORY].take(await app[STATUS].current(), time.monotonic())
        except Exception as error:
            faults.add(error)


def _rate(before: Sample, after: Sample) -> float | None:
    """None if a position is unknown, or went back because the log was restored."""
    if before.position is None or after.position is None or after.position < before.position:
        return None
    return (after.position - before.position) / (after.at - before.at)


def _chart(points: Sequence[tuple[float, float | None]], now: float) -> Chart | None:
    """``points``: times, each with its value, or None for a gap."""
    if len(points) < 2:
        return None
    highest = max((value for _, value in points if value is not None), default=0.0)
    places = [
        "" if value is None else _place(now - at, value / (highest or 1.0)) for at, value in points
    ]
    lines = [" ".join(run) for is_known, run in groupby(places, bool) if is_known]
    return Chart(lines, highest, points[-1][1])


def _place(age: float, height: float) -> str:
    x = WIDTH * (1 - age / WINDOW)
    return f"{max(x, 0.0):.1f},{HEIGHT * (1 - height):.1f}"
