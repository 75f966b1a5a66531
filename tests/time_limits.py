"""Limits of processor time that hold on slow machines too."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

LOOP = 0.015
"""Seconds that ``_loop`` takes on the machine for which the limits are written."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Fails if the block takes more processor time. On a machine that is slower than the one for
    which the limits are written, as shown by a loop, the limit is higher by the same factor."""
    started = time.process_time()
    yield
    took = time.process_time() - started
    if took > seconds:
        limit = seconds * max(1.0, *(_loop() / LOOP for _ in range(5)))
        assert took < limit, f"took {took:.3f} s of processor time; the limit is {limit:.3f} s"


def _loop() -> float:
    started = time.process_time()
    sum(range(1_000_000))
    return time.process_time() - started
