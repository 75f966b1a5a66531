"""Heavy work runs one piece at a time and lets other tasks run between pieces."""

from __future__ import annotations

import asyncio
import time

import pytest

from api.errors import error_response
from api.http.loop_turns import DECODE_JSON, FEW, PARSE_GRAPHQL, SHORT, WAITING, LoopTurns
from write_side.fair_queue import Overloaded

LARGE = FEW + 1


async def test_pieces_wait_for_one_another() -> None:
    turns, order = LoopTurns(), []

    async def piece(name: str) -> None:
        async with turns.turn(name, PARSE_GRAPHQL, LARGE):
            order.append(f"{name} begins")
            await asyncio.sleep(0)
            order.append(f"{name} ends")

    await asyncio.gather(piece("a"), piece("b"))
    assert order == ["a begins", "a ends", "b begins", "b ends"]


async def test_other_tasks_run_between_two_pieces() -> None:
    turns, order = LoopTurns(), []

    async def piece() -> None:
        async with turns.turn("acme", PARSE_GRAPHQL, LARGE):
            order.append("piece")
            time.sleep(SHORT)  # noqa: ASYNC251 - the work

    async def other() -> None:
        for _ in range(3):
            order.append("other")
            await asyncio.sleep(0)

    await asyncio.gather(piece(), piece(), other())
    first, second = (number for number, name in enumerate(order) if name == "piece")
    assert "other" in order[first:second]


async def test_a_workspace_waits_for_one_piece_of_another_that_wants_many() -> None:
    turns, order = LoopTurns(), []

    async def piece(workspace: str) -> None:
        async with turns.turn(workspace, PARSE_GRAPHQL, LARGE):
            order.append(workspace)

    wanted = ["attacker"] * 50 + ["victim"]
    outcomes = await asyncio.gather(*map(piece, wanted), return_exceptions=True)
    assert order.index("victim") == 1
    refused = [one for one in outcomes if isinstance(one, Overloaded)]
    assert len(refused) == 50 - 1 - WAITING
    answer = error_response(refused[0])
    assert (answer.status, answer.headers["Retry-After"]) == (503, "1")


@pytest.mark.parametrize(
    ("work", "size"), [(PARSE_GRAPHQL, 1024), (PARSE_GRAPHQL, FEW), (DECODE_JSON, 64 * 1024)]
)
async def test_small_work_does_not_wait_for_large_work(work: int, size: int) -> None:
    turns = LoopTurns()
    async with (
        asyncio.timeout(60),
        turns.turn("acme", PARSE_GRAPHQL, LARGE),
        turns.turn("acme", work, size),
    ):
        pass


async def test_small_documents_are_executed_during_a_large_one() -> None:
    turns = LoopTurns()
    async with asyncio.timeout(60), turns.alone("acme", LARGE), turns.alone("acme", FEW):
        pass


async def test_a_piece_that_fails_or_is_cancelled_lets_the_next_begin() -> None:
    turns = LoopTurns()
    try:
        async with turns.turn("acme", PARSE_GRAPHQL, LARGE):
            raise ValueError
    except ValueError:
        pass
    async with turns.turn("acme", PARSE_GRAPHQL, LARGE):
        waiting = asyncio.create_task(turns.turn("acme", PARSE_GRAPHQL, LARGE).__aenter__())
        await asyncio.sleep(0)
        waiting.cancel()
    async with asyncio.timeout(60), turns.turn("acme", PARSE_GRAPHQL, LARGE):
        pass


async def test_large_documents_of_two_workspaces_are_executed_at_once() -> None:
    turns = LoopTurns()
    async with asyncio.timeout(60), turns.alone("acme", LARGE), turns.alone("other", LARGE):
        pass
