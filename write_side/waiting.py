"""Waiting for events and for the end of tasks, and letting other tasks run during long work."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Iterable
from typing import TypeVar

T = TypeVar("T")

SLICE = 0.005
"""Seconds that other tasks wait at most, in addition to the work on one item."""


async def wait_until_set(event: asyncio.Event, seconds: float) -> bool:
    """Waits for the event, at most this many seconds. Returns whether it is set."""
    try:
        # Never wait_for: in Python 3.11 it may swallow a cancellation.
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True


async def cancel(task: asyncio.Task[None]) -> None:
    """Cancels the task and waits until it has ended. Raises its error, if it has failed before."""
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


async def in_slices(items: Iterable[T]) -> AsyncIterator[T]:
    """The items; yields to other tasks whenever a slice of time is used up."""
    until = time.perf_counter() + SLICE
    for item in items:
        if time.perf_counter() > until:
            await asyncio.sleep(0)
            until = time.perf_counter() + SLICE
        yield item
