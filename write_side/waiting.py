"""Waiting for events and for the end of tasks, and letting other tasks run during long work."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from itertools import islice
from typing import Any, ParamSpec, TypeVar

from write_side.fair_queue import FairQueue

P = ParamSpec("P")
T = TypeVar("T")

SLICE = 0.005
"""Seconds that other tasks wait at most, in addition to the work on one item."""
PARTS = 1_000
"""Parts of one item, such as references, up to which the work on it takes a few milliseconds."""


async def wait_until_set(event: asyncio.Event, seconds: float) -> bool:
    """Waits for the event, at most this many seconds. Returns whether it is set."""
    try:
        # Never wait_for: in Python 3.11 it may swallow a cancellation.
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True


async def cancel(task: asyncio.Task[Any]) -> None:
    """Cancels the task and waits until it has ended. Raises its error, if it has failed before."""
    task.cancel()
    # Not by awaiting the task: its cancellation would hide the caller's own.
    await asyncio.wait([task])
    with contextlib.suppress(asyncio.CancelledError):
        task.result()


async def cancel_all(*tasks: asyncio.Task[Any]) -> None:
    """Cancels the tasks and waits until all have ended. Ignores their errors."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def is_cancelled() -> bool:
    """Whether the current task was cancelled. If a rollback fails, its error replaces the
    CancelledError."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def raise_if_cancelled(error: BaseException) -> None:
    """Raises the CancelledError that the error has replaced, if the current task was cancelled."""
    if is_cancelled():
        raise asyncio.CancelledError from error


async def in_slices(items: Iterable[T]) -> AsyncGenerator[T, None]:
    """The items; yields to other tasks whenever a slice of time is used up."""
    until = time.perf_counter() + SLICE
    for item in items:
        if time.perf_counter() > until:
            await asyncio.sleep(0)
            until = time.perf_counter() + SLICE
        yield item


async def in_thread_if_large(
    parts: int, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Does the work on one item, which cannot be divided. In a thread, Python interrupts it for
    other tasks."""
    if parts <= PARTS:
        return work(*args, **kwargs)
    return await asyncio.to_thread(work, *args, **kwargs)


async def in_turn_if_large(
    turns: FairQueue,
    client: str,
    parts: int,
    work: Callable[P, T],
    *args: P.args,
    **kwargs: P.kwargs,
) -> T:
    """Like ``in_thread_if_large``, but waits for a turn first, so that the large work of one client
    does not occupy all threads. Raises Overloaded."""
    if parts <= PARTS:
        return work(*args, **kwargs)
    async with turns.turn(client):
        return await asyncio.to_thread(work, *args, **kwargs)


def chunks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    rest = iter(items)
    while chunk := list(islice(rest, size)):
        yield chunk


def portions(items: Iterable[T], size_of: Callable[[T], int], most: int) -> Iterator[list[T]]:
    """The items in groups of at most this size; a larger item is a group of its own."""
    portion: list[T] = []
    left = most
    for item in items:
        size = size_of(item)
        if portion and size > left:
            yield portion
            portion, left = [], most
        portion.append(item)
        left -= size
    if portion:
        yield portion
