"""Rate limits count requests in windows, so all requests of a test must fall into the same
window."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

from tests.integration.api.server import Answer

SendRequests = Callable[[], Awaitable[list[Answer]]]


async def in_one_window(send_requests: SendRequests) -> list[Answer]:
    """Returns the responses of ``send_requests``, and repeats it if a window ended during it.

    Each run must use a new key or address.
    """
    while True:
        answers = await send_requests()
        if len({answer.headers["X-RateLimit-Reset"] for answer in answers}) == 1:
            return answers


def statuses(answers: Iterable[Answer]) -> list[int]:
    return [answer.status for answer in answers]


def limit(answer: Answer) -> int:
    return int(answer.headers["X-RateLimit-Limit"])


def remaining(answer: Answer) -> int:
    return int(answer.headers["X-RateLimit-Remaining"])
