"""The supported locales: CLDR's, written ``xx-YY`` (behaviour.md §2.1)."""

from __future__ import annotations

import re
from functools import cache

from babel import Locale, UnknownLocaleError, localedata

from write_side.domain.refusals import InvalidEntry, shortened

_CODE = re.compile(r"([a-z]{2,3})(?:_[A-Z][a-z]{3})?_([A-Z]{2})")


@cache
def supported_locales() -> frozenset[str]:
    """Every language-territory pair of CLDR, including those to which CLDR adds a script
    (zh-CN)."""
    matches = map(_CODE.fullmatch, localedata.locale_identifiers())
    return frozenset(f"{match[1]}-{match[2]}" for match in matches if match)


def check_locale(code: str, what: str = "locale") -> str:
    """The code. ``what``: "locale" or "language". Raises InvalidEntry."""
    if code not in supported_locales():
        raise InvalidEntry(
            f"Unsupported {what} '{shortened(code)}': use a code like en-US or fr-FR"
        )
    return code


@cache
def locale_name(code: str) -> str:
    """The English name, such as ``French (France)``; "" if the code is unknown."""
    try:
        return Locale.parse(code, sep="-").get_display_name("en") or ""
    except (ValueError, UnknownLocaleError):
        return ""
