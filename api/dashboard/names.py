"""Languages and locales by name."""

from __future__ import annotations

from functools import cache

from babel import Locale, UnknownLocaleError


@cache
def named(code: str) -> str:
    """``fr-FR, French (France)``; the code alone where nobody knows it."""
    try:
        name = Locale.parse(code, sep="-").get_display_name("en")
    except (ValueError, UnknownLocaleError):
        return code
    return f"{code}, {name}" if name else code
