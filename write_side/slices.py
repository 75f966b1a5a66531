"""Divides long work into slices, between which the event loop serves other tasks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable
from typing import TypeVar

T = TypeVar("T")

SLICE = 0.005
"""Seconds that other tasks wait at most, in addition to the work on one item."""


async def in_slices(items: Iterable[T]) -> AsyncIterator[T]:
    """The items; yields to other tasks whenever a slice of time is used up."""
    until = time.perf_counter() + SLICE
    for item in items:
        if time.perf_counter() > until:
            await asyncio.sleep(0)
            until = time.perf_counter() + SLICE
        yield item
