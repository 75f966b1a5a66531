"""Numbers as a spreadsheet shows them: as decimals, with leading zeros, or as dates, times or
durations.

The number format decides which (ECMA-376 part 1, 18.8.30). openpyxl knows the built-in formats
except those of East Asia, and which codes are dates.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Literal

from openpyxl.styles.numbers import (
    STRIP_RE,
    builtin_format_code,
    is_date_format,
    is_timedelta_format,
)
from openpyxl.xml.constants import SHEET_MAIN_NS

from write_side.imports.table import Epoch
from write_side.imports.xlsx.archive import Archive
from write_side.imports.xlsx.serials import clock_time, is_below_a_day, iso_date_time, iso_with_time

Kind = Literal["date", "datetime", "time", "duration"] | int
"""An integer: the minimum number of digits, padded with leading zeros."""

_EAST_ASIAN: dict[int, Kind] = {
    **dict.fromkeys((*range(27, 32), 36, *range(50, 55), 57, 58), "date"),
    **dict.fromkeys((*range(32, 36), 55, 56), "time"),
}
_CODE_LENGTH = 255
"""The longest code that programs write; longer codes could take the regular expressions minutes."""
_LITERAL = re.compile(rf"{STRIP_RE.pattern}|[\\_*].")
_FORMAT = f"{{{SHEET_MAIN_NS}}}numFmts/{{{SHEET_MAIN_NS}}}numFmt"
_STYLE = f"{{{SHEET_MAIN_NS}}}cellXfs/{{{SHEET_MAIN_NS}}}xf"
_LARGEST, _SMALLEST = 21, -7
"""Powers of ten beyond which digits are written with an exponent, as JavaScript does."""


def number_kinds(archive: Archive, styles: str) -> list[Kind | None]:
    """For each cell style, how it shows a number.

    The elements are read directly: openpyxl's Stylesheet refuses files for their fonts and fills.
    """
    root = archive.root(styles)
    codes = {int(one.get("numFmtId", 0)): one.get("formatCode") for one in root.iterfind(_FORMAT)}
    used = [int(one.get("numFmtId", 0)) for one in root.iterfind(_STYLE)]
    kinds = {
        number: kind_of_format(codes.get(number) or builtin_format_code(number))
        or _EAST_ASIAN.get(number)
        for number in set(used)
    }
    return [kinds[number] for number in used]


def kind_of_format(code: str | None) -> Kind | None:
    """Decided by the first section, which is for positive numbers. A single ``m`` is a month; a
    format of zeros alone is a number of digits."""
    if code is None or len(code) > _CODE_LENGTH:
        return None
    if is_timedelta_format(code):
        return "duration"
    if set(code) == {"0"}:
        return len(code)
    if not is_date_format(code):
        return None
    letters = set(_LITERAL.sub("", code).partition(";")[0].lower())
    if not letters & {"h", "s"}:
        return "date"
    return "datetime" if letters & {"y", "d"} else "time"


def number_text(stored: str, kind: Kind | None, epoch: Epoch) -> str:
    """The stored number as text: a date or time if it is shown as one and is valid. Raises
    ValueError if it is not a number. openpyxl's ``from_excel`` is not used: it takes day 60 of 1900
    for day 59, and does not distinguish dates from midnights."""
    text = decimal_text(float(stored) if set(stored) & set(".eE") else int(stored))
    match kind:
        case int() if text.isdecimal():
            return text.zfill(kind)
        case "date":
            return iso_date_time(text, epoch) or text
        case "duration":
            return clock_time(text) or text
        case "time" if is_below_a_day(text):
            return clock_time(text) or text
        case "time" | "datetime":
            return iso_with_time(text, epoch) or text
    return text


def decimal_text(number: float) -> str:
    """``5`` for ``5.0``, ``0.1`` for ``0.10000000000000001``. An integer keeps its digits.

    Raises ValueError for NaN and infinities.
    """
    exact = Decimal(repr(number))
    if not exact.is_finite():
        raise ValueError("exceeds the range of numbers")
    if isinstance(number, int) or not exact or _SMALLEST <= exact.adjusted() < _LARGEST:
        text = f"{exact:f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return f"{exact.normalize():e}"
