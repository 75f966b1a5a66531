"""Text in .xlsx: what XML cannot hold is written ``_xHHHH_`` (ECMA-376 part 1, 22.9.2.19).

XlsxWriter escapes on its own, and openpyxl reads a literal that looks like an escape as one: the
tests hold what each of them writes and reads.
"""

from __future__ import annotations

import re

_NOT_XML = "\x00-\x08\x0b-\x1f\ufffe\uffff"
_SPECIAL = re.compile(f"[{_NOT_XML}]|_(?=x[0-9A-Fa-f]{{4}}[_{_NOT_XML}])")
"""What XML cannot hold, CR (which XML would read as LF), and where a literal looks like an escape,
as it also does before a character that is escaped."""
_ESCAPE = re.compile(
    "_x([Dd][89ABab]..)__x([Dd][C-Fc-f]..)_|_x((?![Dd][89A-Fa-f])....)_".replace(".", "[0-9A-Fa-f]")
)


def escaped(text: str) -> str:
    return _SPECIAL.sub(lambda match: f"_x{ord(match[0]):04X}_", text)


def unescaped(text: str) -> str:
    """``unescaped(escaped(text)) == text``. An escaped half of a surrogate pair stays as it is."""
    return _ESCAPE.sub(_character, text) if "_x" in text else text


def _character(match: re.Match[str]) -> str:
    high, low, plain = match.groups()
    if plain:
        return chr(int(plain, 16))
    return bytes.fromhex(high + low).decode("utf-16-be")
