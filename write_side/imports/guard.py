"""Text that a spreadsheet would run as a formula: disarmed in CSV, and given back unchanged.

The characters are OWASP's («CSV Injection»), full-width ones included.
"""

from __future__ import annotations

import re

_TRIGGER = "[=+\\-@\t\r\n＝＋－＠]"
_RISKY = re.compile(f"'*{_TRIGGER}")
_GUARDED = re.compile(f"'+{_TRIGGER}")


def guard(text: str) -> str:
    """The text behind an apostrophe where it would run, or looks as if it had been guarded."""
    return f"'{text}" if _RISKY.match(text) else text


def unguard(text: str) -> str:
    """What was guarded: ``unguard(guard(text)) == text`` for every text."""
    return text[1:] if _GUARDED.match(text) else text
