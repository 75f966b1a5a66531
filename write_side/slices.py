"""Long work in slices, between which the event loop serves others."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable
from typing import TypeVar

T = TypeVar("T")

SLICE = 0.005
"""Seconds that others wait at most, and the work on one item."""


async def in_slices(items: Iterable[T]) -> AsyncIterator[T]:
    """The items, others being served whenever a slice of time is used up."""
    until = time.perf_counter() + SLICE
    for item in items:
        if time.perf_counter() > until:
            await asyncio.sleep(0)
            until = time.perf_counter() + SLICE
        yield item
