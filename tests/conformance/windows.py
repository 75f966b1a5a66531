"""Rate limits count in windows: the requests of a test must fall into the same one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

from tests.integration.api.server import Answer

Play = Callable[[], Awaitable[list[Answer]]]


async def within_a_window(play: Play) -> list[Answer]:
    """The answers of a play, which is played anew where a window ended in the midst of it.

    It must begin with a key or an address that was never used.
    """
    while True:
        answers = await play()
        if len({answer.headers["X-RateLimit-Reset"] for answer in answers}) == 1:
            return answers


def statuses(answers: Iterable[Answer]) -> list[int]:
    return [answer.status for answer in answers]


def limit(answer: Answer) -> int:
    return int(answer.headers["X-RateLimit-Limit"])


def remaining(answer: Answer) -> int:
    return int(answer.headers["X-RateLimit-Remaining"])
