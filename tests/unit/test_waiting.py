"""Waiting for the end of tasks."""

from __future__ import annotations

import asyncio

import pytest

from write_side.waiting import cancel


async def test_the_caller_of_cancel_can_be_cancelled_while_the_task_ends() -> None:
    ends = asyncio.Event()

    async def end_slowly() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.shield(ends.wait())

    task = asyncio.create_task(end_slowly())
    await asyncio.sleep(0)
    cancelling = asyncio.create_task(cancel(task))
    await asyncio.sleep(0)
    cancelling.cancel()
    with pytest.raises(asyncio.CancelledError):
        async with asyncio.timeout(1):
            await cancelling
    ends.set()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_the_error_of_a_task_that_has_failed_is_raised() -> None:
    async def fail() -> None:
        raise ValueError("failed")

    task = asyncio.create_task(fail())
    await asyncio.sleep(0)
    with pytest.raises(ValueError, match="failed"):
        await cancel(task)
