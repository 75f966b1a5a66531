"""When a failed delivery is tried again, and when an endpoint is switched off."""

from __future__ import annotations

import random

FIRST = 4.0
"""Seconds, at most, until the first retry."""
LONGEST = 3600.0
PATIENCE = 3 * 86_400.0
"""Seconds of failures after which an endpoint is switched off."""


def retry_delay(attempt: int) -> float:
    """Seconds until the next try after so many failed ones: doubled each time up to LONGEST, and
    between half of that and all of it at random, so that endpoints of one host do not retry
    together."""
    longest = min(FIRST * 2 ** min(attempt - 1, 30), LONGEST)
    return random.uniform(longest / 2, longest)  # noqa: S311
