"""The slug an entry gets from its title (readings, «Slugs»)."""

from __future__ import annotations

import unicodedata


def slug_from(title: str) -> str:
    """The title lowercased, each character that is no letter or digit turned into one hyphen.

    Nothing is collapsed, trimmed or transliterated: ``Hello, World!`` gives ``hello--world-``.
    """
    return "".join(
        character if _is_letter_or_digit(character) else "-" for character in title.lower()
    )


def _is_letter_or_digit(character: str) -> bool:
    category = unicodedata.category(character)
    return category[0] == "L" or category == "Nd"
