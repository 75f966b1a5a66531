"""Which number formats show a number as a date, a time or a duration (ECMA-376 part 1, 18.8.30).

openpyxl knows the built-in ones but for those of East Asia, and which codes are dates at all. Its
Stylesheet is not used: it reads fonts and fills too, and refuses files for theirs.
"""

from __future__ import annotations

import re
from typing import Literal

from openpyxl.styles.numbers import (
    STRIP_RE,
    builtin_format_code,
    is_date_format,
    is_timedelta_format,
)
from openpyxl.xml.constants import SHEET_MAIN_NS

from write_side.imports.xlsx.archive import Archive

Kind = Literal["date", "datetime", "time", "duration"]

_EAST_ASIAN: dict[int, Kind] = {
    **dict.fromkeys((*range(27, 32), 36, *range(50, 55), 57, 58), "date"),
    **dict.fromkeys((*range(32, 36), 55, 56), "time"),
}
_CODE_LENGTH = 255
"""Of any that a program writes; longer ones could keep the expressions busy for minutes."""
_LITERAL = re.compile(rf"{STRIP_RE.pattern}|[\\_*].")
_FORMATS, _USED = f"{{{SHEET_MAIN_NS}}}numFmts", f"{{{SHEET_MAIN_NS}}}cellXfs"


def kinds_of(archive: Archive, styles: str) -> list[Kind | None]:
    """What each cell style makes of a number."""
    root = archive.elements(styles, frozenset((_FORMATS, _USED)))
    codes = {
        int(one.get("numFmtId", 0)): one.get("formatCode") for one in root.iterfind(f"{_FORMATS}/*")
    }
    used = [int(one.get("numFmtId", 0)) for one in root.iterfind(f"{_USED}/*")]
    kinds = {
        number: kind_of_format(codes.get(number) or builtin_format_code(number))
        or _EAST_ASIAN.get(number)
        for number in set(used)
    }
    return [kinds[number] for number in used]


def kind_of_format(code: str | None) -> Kind | None:
    """By its first section, which is for positive numbers. ``m`` alone is a month."""
    if code is None or len(code) > _CODE_LENGTH:
        return None
    if is_timedelta_format(code):
        return "duration"
    if not is_date_format(code):
        return None
    letters = set(_LITERAL.sub("", code).partition(";")[0].lower())
    if not letters & {"h", "s"}:
        return "date"
    return "datetime" if letters & {"y", "d"} else "time"
