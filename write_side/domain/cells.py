"""Values as the text of spreadsheet cells, and back (behaviour.md §4.6).

Readers and writers are inverse: an import reads the same value that an export wrote. A missing
value is a blank cell, and an empty text is two double quotes. A list whose comma-separated notation
would not be read back is written as a JSON array. Dates in any form of ISO 8601 are read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw

from write_side.domain.refusals import InvalidField, InvalidText
from write_side.domain.text import NotJSON, composed, minified, unstorable
from write_side.domain.values import (
    MAX_ITEMS,
    TOO_MANY_ITEMS,
    checked_value,
    elements,
    ends_of,
    is_iso_datetime,
    is_null,
    json_of,
    text_of,
    texts_of,
)

if TYPE_CHECKING:  # fields refer to their types, and types to these functions
    from write_side.domain.definition import Field

EXCEL_BOOLEANS = {
    "TRUE": "FALSE",
    "DOĞRU": "YANLIŞ",  # Turkish
    "IGAZ": "HAMIS",  # Hungarian
    "PRAVDA": "NEPRAVDA",  # Czech
    "PRAWDA": "FAŁSZ",  # Polish
    "SAND": "FALSK",  # Danish
    "SANN": "USANN",  # Norwegian
    "SANT": "FALSKT",  # Swedish
    "TOSI": "EPÄTOSI",  # Finnish
    "VERDADEIRO": "FALSO",  # Portuguese
    "VERDADERO": "FALSO",  # Spanish
    "VERO": "FALSO",  # Italian
    "VRAI": "FAUX",  # French
    "WAAR": "ONWAAR",  # Dutch
    "WAHR": "FALSCH",  # German
    "ИСТИНА": "ЛОЖЬ",  # Russian
}
"""True → false, as Excel writes them to CSV."""
TRUE = frozenset({"yes", "1", "on", *map(str.casefold, EXCEL_BOOLEANS)})
FALSE = frozenset({"no", "0", "off", *map(str.casefold, EXCEL_BOOLEANS.values())})
RANGE = "a range of ISO 8601 dates, from / to, such as 2026-01-31 / 2026-02-14"
Names = Mapping[str, str]
"""Id of an entry → the name to write for it; the id itself if there is none."""

_NUMBER = re.compile(
    r"([+-]?)(\d{1,3}([, \u00a0\u2009\u202f'’])\d{3}(?:\3\d{3})*|\d++)?(\.\d++)?([eE][+-]?\d++)?",
    re.ASCII,
)
"""Groups of three, all with the same separator: a comma, a space of any kind, an apostrophe."""
_NOT_DIGIT = re.compile("[^0-9]")
_QUOTES = re.compile('""+')
_LIST = msgspec.json.Decoder(list[str])
_ANY = msgspec.json.Decoder(float_hook=Decimal)


class BadCell(Exception):
    """The cell is not a value of its field; the text says what it should be."""


class Digits(str):
    """A number in JSON notation, to be written as a number, not as text."""

    __slots__ = ()


def value_of(field: Field, cell: str) -> Raw:
    """The value of a cell that is not blank. Raises BadCell."""
    check_storable(cell)
    try:
        return checked_value(field, field.spec.read_cell(field, cell), field.slug)
    except InvalidField as error:
        if error.expected == field.spec.expected(field):
            raise BadCell(f"takes {field.spec.expected_in_cell(field)}") from None
        inside = "" if error.path == field.slug else f"{error.path} "
        raise BadCell(f"{inside}takes {error.expected}") from None
    except (InvalidText, NotJSON) as error:
        raise BadCell(f"takes JSON text: {error}") from None


def cell_of(field: Field, value: Raw | None, names: Names) -> str:
    if value is None or is_null(value):
        return ""
    return field.spec.write_cell(field, value, names)


def is_blank(field: Field, cell: str) -> bool:
    """Whether the cell is empty. White space counts as empty, except in a text or an option."""
    if field.spec.keeps_spaces:
        return not cell
    return not cell.strip() and cell not in {option.value for option in field.options}


def check_storable(cell: str) -> None:
    """Raises BadCell if the log cannot store the text."""
    reason = unstorable(cell)
    if reason is not None:
        raise BadCell(reason)


def same(field: Field, value: Raw, other: Raw) -> bool:
    """Whether two values of a field are equal, regardless of notation."""
    if value == other:
        return True
    try:
        return bool(_meaning(field, value) == _meaning(field, other))
    except (msgspec.DecodeError, ArithmeticError):
        return False


def _meaning(field: Field, value: Raw) -> Any:
    """A comparable form. A nested value is reduced to the type's fields that are not null."""
    if field.spec.any_json:
        return bytes(value)
    if not field.spec.is_nested:
        return _ANY.decode(value)
    return [
        {
            inner.slug: _meaning(inner, element[inner.slug])
            for inner in field.fields
            if inner.slug in element and not is_null(element[inner.slug])
        }
        for element in elements(value)
    ]


def read_text(_field: Field, cell: str) -> Raw:
    """A text of only double quotes has two more of them in its cell than in its value."""
    return json_of(cell[2:] if _QUOTES.fullmatch(cell) else cell)


def write_text(_field: Field, value: Raw, _names: Names) -> str:
    text = text_of(value)
    return text if text.strip('"') or text == '"' else f'"{text}"'


def read_number(_field: Field, cell: str) -> Raw:
    """The digits as written, without what JSON does not allow: separators, a plus sign, leading
    zeros."""
    match = _NUMBER.fullmatch(cell.strip())
    if match is None or not (match[2] or match[4]):
        raise BadCell("takes a number, such as 1234.5 or 1,234.5")
    sign, whole, _, fraction, exponent = (part or "" for part in match.groups())
    digits = _NOT_DIGIT.sub("", whole).lstrip("0") or "0"
    return Raw(f"{sign.strip('+')}{digits}{fraction}{exponent}".encode())


def write_number(_field: Field, value: Raw, _names: Names) -> str:
    return Digits(bytes(value).decode())


def read_boolean(_field: Field, cell: str) -> Raw:
    word = cell.strip().casefold()
    if word in TRUE:
        return Raw(b"true")
    if word in FALSE:
        return Raw(b"false")
    raise BadCell("takes true or false, yes or no, 1 or 0, on or off")


def read_date(field: Field, cell: str) -> Raw:
    """A date in the extended calendar form is kept as written."""
    if not field.range:
        return json_of(_date_text(cell))
    start, end = split_range(cell)
    return json_of({"from": _date_text(start), "to": _date_text(end)})


def split_range(cell: str) -> tuple[str, str]:
    """Prefers a slash with spaces around it, because dates may contain slashes. Raises BadCell."""
    start, slash, end = cell.partition(" / " if " / " in cell else "/")
    if not slash:
        raise BadCell(f"takes {RANGE}")
    return start, end


def _date_text(cell: str) -> str:
    text = cell.strip()
    if has_no_such_day(text):
        raise BadCell(f"names a day that does not exist: {text}")
    return text if is_iso_datetime(text) else extended_form(text) or text


def write_date(field: Field, value: Raw, _names: Names) -> str:
    if not field.range:
        return text_of(value)
    ends = ends_of(value)
    return f"{ends['from']} / {ends['to']}"


def read_options(field: Field, cell: str) -> Raw:
    """Options matched by value, then by label, regardless of case and Unicode normalization
    form."""
    names = names_in(field, cell)
    values = {option.value for option in field.options}
    if values.issuperset(names):
        return listed(field, names)
    labels = {composed(option.label) for option in field.options}
    if composed(cell.strip()) in labels:
        names = [cell.strip()]  # a label with a comma
    by_value: dict[str, list[str]] = {}
    by_label: dict[str, list[str]] = {}
    for option in field.options:
        by_value.setdefault(_folded(option.value), []).append(option.value)
        by_label.setdefault(_folded(option.label), []).append(option.value)
    return listed(
        field, [name if name in values else _option(name, by_value, by_label) for name in names]
    )


def _option(name: str, *tables: Mapping[str, list[str]]) -> str:
    """The value of the option with this name, or the name if there is none. Raises BadCell if there
    are several."""
    for table in tables:
        meant = table.get(_folded(name), ())
        if len(meant) > 1:
            raise BadCell(f"is ambiguous: {name!r} is the name of {', '.join(meant)}")
        if meant:
            return meant[0]
    return name


def _folded(name: str) -> str:
    return composed(name).casefold()


def read_list(field: Field, cell: str) -> Raw:
    return listed(field, names_in(field, cell))


def write_list(field: Field, value: Raw, names: Names) -> str:
    called = [names.get(one, one) for one in texts_of(field, value)]
    if not field.multiple:
        return called[0]
    readable = called and all(map(is_listable, called))
    return ", ".join(called) if readable else bytes(json_of(called)).decode()


def names_in(field: Field, cell: str) -> list[str]:
    """The names in a cell of options, references or media files. Raises BadCell for too many."""
    if not field.multiple:
        return [cell if cell in {option.value for option in field.options} else cell.strip()]
    names = _names(cell)
    if len(names) > MAX_ITEMS:
        raise BadCell(f"takes {TOO_MANY_ITEMS}")
    return names


def _names(cell: str) -> list[str]:
    try:
        return _LIST.decode(cell)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return [name for name in map(str.strip, cell.split(",")) if name]


def listed(field: Field, names: list[str]) -> Raw:
    """The value of a field that takes one name, or several with ``multiple``."""
    return json_of(names if field.multiple else names[0])


def is_listable(name: str) -> bool:
    """Whether the name can be read back from a list separated by commas."""
    return name == name.strip() != "" and "," not in name and not name.startswith("[")


def read_json(_field: Field, cell: str) -> Raw:
    return Raw(minified(cell.encode()))


def write_json(_field: Field, value: Raw, _names: Names) -> str:
    return bytes(value).decode()


_DATE = (
    r"(?P<date>(?P<year>\d{4})"
    r"(?:-\d\d-\d\d|\d{4}|-?(?P<ordinal>\d{3})|(?P<dash>-?)W\d\d(?P=dash)[1-7]))"
)
_TIME = (
    r"(?P<hour>\d\d)(?:(?P<colon>:?)(?P<minute>\d\d)(?:(?P=colon)(?P<second>\d\d)"
    r"(?P<fraction>[.,]\d{1,9})?)?)?"
)
_ZONE = r"(?P<zone>[Zz]|[+-]\d\d(?::?\d\d)?)"
_ISO = re.compile(f"{_DATE}(?:[Tt ]{_TIME}{_ZONE}?)?", re.ASCII)


def extended_form(text: str) -> str | None:
    """``2026-01-31`` for ``20260131``, ``2026-031`` and ``2026-W05-6``, and likewise for
    date-times; ``24:00`` is midnight of the next day. None if the text has no such form. The caller
    checks whether the time of day is valid."""
    match = _ISO.fullmatch(text)
    if match is None:
        return None
    parts = match.groupdict("")
    try:
        day = _day(parts)
        return f"{_moment(day, parts)}{parts['zone']}" if parts["hour"] else day.isoformat()
    except (ValueError, OverflowError):
        return None


def has_no_such_day(text: str) -> bool:
    """Whether the text is written like a date, but the calendar has no such day: 2026-02-31."""
    match = _ISO.fullmatch(text)
    if match is None:
        return False
    try:
        _day(match.groupdict(""))
    except (ValueError, OverflowError):
        return True
    return False


def _day(parts: dict[str, str]) -> date:
    """Raises ValueError or OverflowError for a day that does not exist."""
    if not parts["ordinal"]:
        return date.fromisoformat(parts["date"])
    year = int(parts["year"])
    day = date(year, 1, 1) + timedelta(int(parts["ordinal"]) - 1)
    if day.year != year:
        raise ValueError("the year has no such day")
    return day


def _moment(day: date, parts: dict[str, str]) -> str:
    hour, minute, second = parts["hour"], parts["minute"] or "00", parts["second"]
    if hour == "24":
        if (minute, second or "00", parts["fraction"].strip(".,0")) != ("00", "00", ""):
            raise ValueError("a day ends at 24:00")
        day, hour = day + timedelta(1), "00"
    seconds = f":{second}{parts['fraction']}" if second else ""
    return f"{day.isoformat()}T{hour}:{minute}{seconds}"
