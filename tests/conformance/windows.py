"""Rate limits count requests in windows, so all requests of a test must fall into the same
window."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

from tests.integration.api.server import Answer

Play = Callable[[], Awaitable[list[Answer]]]


async def within_a_window(play: Play) -> list[Answer]:
    """Returns the responses of ``play``, and repeats it if a window ended during it.

    Each run must use a new key or address.
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
