"""Parts of a process close concurrently."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from api.server import closed_together


async def test_each_part_closes_while_the_others_do() -> None:
    closing = [asyncio.Event(), asyncio.Event()]

    @asynccontextmanager
    async def part(own: int) -> AsyncIterator[None]:
        yield
        closing[own].set()
        await closing[1 - own].wait()

    async with asyncio.timeout(60), closed_together(part(0), part(1)):
        pass


async def test_a_part_that_cannot_be_opened_closes_those_before_it() -> None:
    closed: list[str] = []

    @asynccontextmanager
    async def first() -> AsyncIterator[None]:
        yield
        closed.append("first")

    @asynccontextmanager
    async def second() -> AsyncIterator[None]:
        raise OSError("in use")
        yield

    with pytest.raises(OSError, match="in use"):
        async with closed_together(first(), second()):
            pytest.fail("the second part is open")
    assert closed == ["first"]
