"""An open-loop load of many workspaces in a process of its own: the n-th largest one sends 1/n of
the requests of the largest (Zipf's law). Each request reads the first page of a workspace.

Reads from standard input a line of JSON with ``port``, ``rate``, ``seconds``, ``first``, ``last``;
writes one with the latencies in seconds, by class of workspace.
"""

from __future__ import annotations

import random
from functools import cached_property
from itertools import accumulate

from msgspec import Struct

from tests.benchmarks.steady_load import main


class SkewedPlan(Struct, frozen=True, dict=True):
    """``first`` to ``last``: the ranks of the workspaces, 1 for the largest. ``rate``: requests a
    second."""

    port: int
    rate: float
    seconds: float
    first: int
    last: int

    @cached_property
    def _weights(self) -> list[float]:
        return list(accumulate(1 / rank for rank in range(self.first, self.last + 1)))

    def request(self) -> tuple[str, bytes]:
        """The next one, and the class of its workspace."""
        ranks = range(self.first, self.last + 1)
        (rank,) = random.choices(ranks, cum_weights=self._weights)
        head = f"Host: bench\r\nAuthorization: Bearer {secret(rank)}\r\n\r\n"
        return class_of(rank), f"GET /v1/content/posts HTTP/1.1\r\n{head}".encode()


def secret(rank: int) -> str:
    """The key of a workspace."""
    return f"secret-of-workspace-{rank}"


def class_of(rank: int) -> str:
    """By size: tens, thousands and the rest."""
    if rank <= 10:
        return "the 10 largest"
    return "the next 990" if rank <= 1_000 else "the others"


if __name__ == "__main__":
    main(SkewedPlan)
