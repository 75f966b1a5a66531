"""Heavy work is done one piece at a time, and leaves turns of the loop to others."""

from __future__ import annotations

import asyncio
import time

from api.http.loop_turns import FEW, SHORT, SMALL, LoopTurns

LARGE = FEW + 1


async def test_pieces_wait_for_one_another() -> None:
    turns, order = LoopTurns(), []

    async def piece(name: str) -> None:
        async with turns.turn(LARGE):
            order.append(f"{name} begins")
            await asyncio.sleep(0)
            order.append(f"{name} ends")

    await asyncio.gather(piece("a"), piece("b"))
    assert order == ["a begins", "a ends", "b begins", "b ends"]


async def test_others_come_between_two_pieces() -> None:
    turns, order = LoopTurns(), []

    async def piece() -> None:
        async with turns.turn(LARGE):
            order.append("piece")
            time.sleep(SHORT)  # noqa: ASYNC251 - the work

    async def other() -> None:
        for _ in range(3):
            order.append("other")
            await asyncio.sleep(0)

    await asyncio.gather(piece(), piece(), other())
    first, second = (number for number, name in enumerate(order) if name == "piece")
    assert "other" in order[first:second]


async def test_small_work_does_not_wait() -> None:
    turns = LoopTurns()
    async with turns.turn(LARGE), turns.turn(SMALL):
        pass
    async with turns.alone("acme", LARGE), turns.alone("acme", FEW):
        pass


async def test_a_piece_that_fails_or_is_cancelled_lets_the_next_begin() -> None:
    turns = LoopTurns()
    try:
        async with turns.turn(LARGE):
            raise ValueError
    except ValueError:
        pass
    async with turns.turn(LARGE):
        waiting = asyncio.create_task(turns.turn(LARGE).__aenter__())
        await asyncio.sleep(0)
        waiting.cancel()
    async with asyncio.timeout(60), turns.turn(LARGE):
        pass


async def test_one_workspace_does_not_wait_for_another() -> None:
    turns = LoopTurns()
    async with asyncio.timeout(60), turns.alone("acme", LARGE), turns.alone("other", LARGE):
        pass
