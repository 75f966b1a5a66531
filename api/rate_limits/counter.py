"""The shared counter that processes lease requests of a window from, whatever keeps it.

A window is 60 s of the counter's own clock, so the clocks of the machines that ask do not matter.
Of each bucket a counter knows how many requests of the window it has given away, and how many of
those are spare: leased by a process beyond what was asked, so that they may still come back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

WINDOW = 60
"""Seconds."""
FEW = 64
"""With fewer requests left than these, none are leased to spare."""
SHARE = 16
"""One in so many of the free requests is leased to spare."""
MOST = 1_000
"""More than these are never leased to spare."""


class Demand(Struct, frozen=True):
    """What a process asks of a bucket, and what has become of its last lease there.

    ``window`` is the Unix second at which the window of that lease began; ``spare`` is what the
    counter then held to be spare, of which ``unused`` come back.
    """

    bucket: str
    limit: int
    asked: int
    window: int = 0
    spare: int = 0
    unused: int = 0

    def anew(self) -> Demand:
        """The same after a call of which nobody knows whether it was carried out.

        What comes back must not come back twice; asking twice only wastes a lease.
        """
        return Demand(self.bucket, self.limit, self.asked)


class Grant(Struct, frozen=True):
    """The answer: fewer than were asked only where no more are free.

    ``free`` are left to lease; ``spare`` may still come back, whoever holds them. ``window`` is the
    Unix second at which it began and ``at`` the moment, both by the counter's clock.
    """

    window: int
    granted: int
    free: int
    spare: int
    at: float


class Counter(Protocol):
    """Raises whatever it likes where it cannot be reached."""

    async def lease(self, demands: Sequence[Demand]) -> list[Grant]:
        """A grant for each; no bucket comes twice. With no demands: whether it can be reached."""
        ...

    async def expire(self, window: int) -> bool:
        """Forget some of the buckets of windows that began earlier. True where there is more."""
        ...

    async def close(self) -> None: ...


def block(free: int, asked: int) -> int:
    """How many of the free requests one who asks for some is given."""
    if asked == 0 or free <= 0:
        return 0
    if free < FEW:
        return min(free, asked)
    return min(free, asked + min(max(free - asked, 0) // SHARE, MOST))
