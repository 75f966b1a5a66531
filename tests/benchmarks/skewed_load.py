"""An open-loop load on many workspaces, in a separate process.

The n-th largest workspace gets 1/n of the requests of the largest (Zipf's law). Each request reads
a workspace's first page. The program reads a line of JSON with ``port``, ``rate``, ``seconds``,
``first`` and ``last`` from standard input, and writes a line with the latencies in seconds, by
class of workspace.
"""

from __future__ import annotations

import random
from functools import cached_property
from itertools import accumulate

from msgspec import Struct

from tests.benchmarks.steady_load import main


class SkewedPlan(Struct, frozen=True, dict=True):
    """``first`` and ``last`` are ranks of workspaces; the largest has rank 1. ``rate`` is requests
    per second."""

    port: int
    rate: float
    seconds: float
    first: int
    last: int

    @cached_property
    def _weights(self) -> list[float]:
        return list(accumulate(1 / rank for rank in range(self.first, self.last + 1)))

    def request(self) -> tuple[str, bytes]:
        """Returns the class of a random workspace, and the request."""
        ranks = range(self.first, self.last + 1)
        (rank,) = random.choices(ranks, cum_weights=self._weights)
        head = f"Host: bench\r\nAuthorization: Bearer {secret(rank)}\r\n\r\n"
        return class_of(rank), f"GET /v1/content/posts HTTP/1.1\r\n{head}".encode()


def secret(rank: int) -> str:
    """The workspace's key."""
    return f"secret-of-workspace-{rank}"


def class_of(rank: int) -> str:
    """The class of a workspace by size."""
    if rank <= 10:
        return "the 10 largest"
    return "the next 990" if rank <= 1_000 else "the others"


if __name__ == "__main__":
    main(SkewedPlan)
