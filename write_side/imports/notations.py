"""Converts numbers and dates in a notation chosen by the user to the text that a field reads.

Both are explicit choices: ``1,234`` is a number in either notation, and ``01/02/2026`` can mean two
dates.
"""

from __future__ import annotations

import re

from write_side.domain.cells import BadCell, split_range
from write_side.domain.definition import Field
from write_side.imports.request import ImportRequest

_DECIMAL_COMMA = re.compile(
    r"([+-]?)(\d{1,3}(?:([. \u00a0\u2009\u202f'’])\d{3}(?:\3\d{3})*)?|\d++)?(?:,(\d++))?"
    r"([eE][+-]?\d++)?",
    re.ASCII,
)
_DAY_FIRST = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4})(?:[ T](\d{1,2}:\d{2}.*))?", re.ASCII)


ADVICE = {
    "decimal_comma": "; choose a decimal comma to read it",
    "day_first": "; choose day-first dates to read it",
}
"""The end of an error's text, by the choice with which the cell could be read."""


def in_notation(field: Field, text: str, request: ImportRequest) -> str:
    """The text of a cell as its field would read it without the choices. Raises BadCell."""
    if request.decimal_comma and field.spec.display == "number":
        return _with_decimal_point(text.strip())
    if request.day_first and field.spec.reads_serials:
        if field.range:
            return " / ".join(map(_year_first, split_range(text)))
        return _year_first(text)
    return text


def _with_decimal_point(text: str) -> str:
    match = _DECIMAL_COMMA.fullmatch(text)
    if match is None or not (match[2] or match[4]):
        raise BadCell("takes a number with a decimal comma, such as 1234,5 or 1.234,5")
    whole = re.sub(r"\D", "", match[2] or "0")
    fraction = f".{match[4]}" if match[4] else ""
    return f"{match[1]}{whole}{fraction}{match[5] or ''}"


def _year_first(text: str) -> str:
    """A text in any other form is unchanged: ISO 8601 dates begin with the year."""
    match = _DAY_FIRST.fullmatch(text.strip())
    if match is None:
        return text
    day, _, month, year, time = match.groups()
    date = f"{year}-{month:0>2}-{day:0>2}"
    return f"{date}T{time.zfill(len(time) + (time[1] == ':'))}" if time else date
