"""Waiting for the end of tasks, and work in portions."""

from __future__ import annotations

import asyncio

import pytest

from write_side.waiting import cancel, portions


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


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([], []),
        ([3, 3, 3, 9, 1], [[3, 3], [3], [9], [1]]),
        ([5, 1, 6], [[5, 1], [6]]),
        ([7], [[7]]),
    ],
)
def test_a_portion_has_up_to_its_size(sizes: list[int], expected: list[list[int]]) -> None:
    assert list(portions(sizes, lambda size: size, 6)) == expected
