"""Which number formats show a number as a date, a time or a duration (ECMA-376 part 1, 18.8.30)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from write_side.imports.xlsx.markup import elements

Kind = Literal["date", "datetime", "time", "duration"]

_BUILT_IN: dict[int, Kind] = {
    **dict.fromkeys((*range(14, 18), *range(27, 32), 36, *range(50, 55), 57, 58), "date"),
    **dict.fromkeys((*range(18, 22), *range(32, 36), 45, 47, 55, 56), "time"),
    22: "datetime",
    46: "duration",
}
"""East Asian ones included."""

_LITERAL = re.compile(r'"[^"]*"?|[\\_*].|\[(?![hms]+\])[^\]]*\]|[e][+-]|general', re.IGNORECASE)
_ELAPSED = re.compile(r"\[(h+|m+|s+)\]", re.IGNORECASE)


def kinds_of(styles: Iterable[bytes]) -> list[Kind | None]:
    """What each cell style makes of a number. Raises FileRefused."""
    formats: dict[str, str] = {}
    used: list[str] = []
    for parent, name, attributes in elements(styles, "numFmt", "xf"):
        match parent, name:
            case "numFmts", "numFmt":
                formats[attributes.get("numFmtId", "")] = attributes.get("formatCode", "")
            case "cellXfs", "xf":
                used.append(attributes.get("numFmtId", "0"))
    kinds = {number: _kind(number, formats) for number in set(used)}
    return [kinds[number] for number in used]


def _kind(number: str, formats: dict[str, str]) -> Kind | None:
    if number in formats:
        return kind_of_format(formats[number])
    return _BUILT_IN.get(int(number)) if re.fullmatch("[0-9]{1,4}", number) else None


def kind_of_format(code: str) -> Kind | None:
    """By its first section, which is for positive numbers. ``m`` alone is a month."""
    code = _LITERAL.sub("", code).partition(";")[0]
    if _ELAPSED.search(code):
        return "duration"
    letters = set(code.lower())
    has_time = bool(letters & {"h", "s"})
    has_date = bool(letters & {"y", "d"}) or ("m" in letters and not has_time)
    if has_date:
        return "datetime" if has_time else "date"
    return "time" if has_time else None
