"""Slugs of entries: derived from titles (readings, «Slugs»), and as they are indexed."""

from __future__ import annotations

import hashlib
import unicodedata


def slug_from(title: str) -> str:
    """The title lowercased, each character that is not a letter or digit replaced by a hyphen.

    Nothing is collapsed, trimmed or transliterated: ``Hello, World!`` gives ``hello--world-``.
    """
    return "".join(
        character if _is_letter_or_digit(character) else "-" for character in title.lower()
    )


def slug_hash(slug: str) -> bytes:
    """Slugs are claimed and looked up by their sha256: a B-tree entry cannot hold a long one."""
    return hashlib.sha256(slug.encode()).digest()


def _is_letter_or_digit(character: str) -> bool:
    category = unicodedata.category(character)
    return category[0] == "L" or category == "Nd"
