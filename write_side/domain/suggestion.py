"""The word that was probably meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

LONGEST = 100
"""Comparing takes quadratic time."""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that is most similar to a mistyped one; None if none is similar."""
    found = get_close_matches(word, known, n=1) if len(word) <= LONGEST else []
    return found[0] if found else None
