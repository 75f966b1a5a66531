"""Waiting for events and for the end of tasks."""

from __future__ import annotations

import asyncio
import contextlib


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
