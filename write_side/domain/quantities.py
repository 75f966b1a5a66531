"""Numbers with the word for what they count, in messages."""

from __future__ import annotations


def count(n: int, one: str, many: str = "") -> str:
    """``1 entry``, ``2,000 entries``."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"
