"""How text is escaped in the cells of CSV and .xlsx files; both directions are lossless.

In CSV, text that a spreadsheet would run as a formula gets an apostrophe in front; the characters
are OWASP's («CSV Injection»), full-width ones included. A spreadsheet may be configured with a
different delimiter. It then treats our quotes as ordinary characters, and a cell begins after each
of its delimiters and line breaks, so formulas there get an apostrophe too.

In .xlsx, characters that XML cannot hold are written ``_xHHHH_`` (ECMA-376 part 1, 22.9.2.19).
XlsxWriter escapes by itself; openpyxl does not distinguish an escape from its literal text.
"""

from __future__ import annotations

import re

_SIGN = "[=+\\-@＝＋－＠]"
_FORMULA = f"(?:{_SIGN}|[\t\r\n])"
_RISKY = re.compile(f"'*{_FORMULA}")
_GUARDED = re.compile(f"'+{_FORMULA}")
_DELIMITER = "([;|\t\r\n])"
"""Without the comma: if a comma separates cells, our quotes are recognized."""
_RISKY_INSIDE = re.compile(f"{_DELIMITER}(?=['\"]*{_SIGN})")
_GUARDED_INSIDE = re.compile(f"{_DELIMITER}'(?=['\"]*{_SIGN})")
_NOT_XML = "\x00-\x08\x0b-\x1f\ufffe\uffff"
_SPECIAL = re.compile(f"[{_NOT_XML}]|_(?=x[0-9A-Fa-f]{{4}}[_{_NOT_XML}])")
"""Characters that XML cannot hold, CR (which XML would read as LF), and literals that look like an
escape."""
_ESCAPE = re.compile(
    "_x([Dd][89ABab]..)__x([Dd][C-Fc-f]..)_|_x((?![Dd][89A-Fa-f])....)_".replace(".", "[0-9A-Fa-f]")
)


def guard(text: str) -> str:
    """The text with an apostrophe wherever a cell could begin with a formula, or with text that
    looks guarded."""
    inside = _RISKY_INSIDE.sub(r"\1'", text)
    return f"'{inside}" if _RISKY.match(text) else inside


def unguard(text: str) -> str:
    """``unguard(guard(text)) == text`` for every text."""
    inside = _GUARDED_INSIDE.sub(r"\1", text)
    return inside[1:] if _GUARDED.match(text) else inside


def escaped(text: str) -> str:
    return _SPECIAL.sub(lambda match: f"_x{ord(match[0]):04X}_", text)


def unescaped(text: str) -> str:
    """``unescaped(escaped(text)) == text``. An escaped unpaired surrogate is unchanged."""
    return _ESCAPE.sub(_character, text) if "_x" in text else text


def _character(match: re.Match[str]) -> str:
    high, low, plain = match.groups()
    if plain:
        return chr(int(plain, 16))
    return bytes.fromhex(high + low).decode("utf-16-be")
