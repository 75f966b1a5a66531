"""Cells as values: the text of a spreadsheet to the JSON of a field (specification §4.6).

What an export writes comes back as it was: the empty text as ``""``, lists that commas cannot tell
as arrays of JSON, values of select fields before anything is cut off them.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import msgspec
from msgspec import Raw

from write_side.domain.definition import Field
from write_side.domain.events import Status
from write_side.domain.refusals import InvalidField, InvalidText
from write_side.domain.text import NotJSON, minified, unstorable
from write_side.domain.values import checked_value
from write_side.imports.table import Epoch
from write_side.imports.xlsx.serials import iso_date_time

TRUE = frozenset({"true", "yes", "1", "on"})
FALSE = frozenset({"false", "no", "0", "off"})

_NUMBER = re.compile(
    r"([+-]?)(\d{1,3}(?:,\d{3})+|\d+)?(\.\d+)?([eE][+-]?\d+)?",
    re.ASCII,
)
_QUOTES = re.compile('""+')
_LIST = msgspec.json.Decoder(list[str])
_ANY = msgspec.json.Decoder(float_hook=Decimal)
_ELEMENTS = msgspec.json.Decoder(list[dict[str, Raw]])


class BadCell(Exception):
    """The cell cannot be a value of its field; the text says what it should be."""


def is_blank(field: Field, cell: str) -> bool:
    """White space is a text, and nothing to every other type but where it is an option."""
    if field.type in ("text", "rich_text"):
        return not cell
    return not cell.strip() and cell not in {option.value for option in field.options}


def value_of(field: Field, cell: str, epoch: Epoch | None = None) -> Raw:
    """The value of a cell that is not blank and names nothing. Raises BadCell.

    ``epoch``: of the workbook, where the cell is a number and may be a date.
    """
    check_storable(cell)
    try:
        return checked_value(field, _written(field, cell, epoch), field.slug)
    except InvalidField as error:
        inside = "" if error.path == field.slug else f"{error.path} "
        raise BadCell(f"{inside}takes {error.expected}") from None
    except (InvalidText, NotJSON) as error:
        raise BadCell(f"takes JSON text: {error}") from None


def check_storable(cell: str) -> None:
    """Raises BadCell where the log cannot hold the text."""
    reason = unstorable(cell)
    if reason is not None:
        raise BadCell(reason)


def status_of(cell: str) -> Status:
    """Whatever is no status is a draft (specification §3); case does not matter."""
    match cell.strip().casefold():
        case "published":
            return "published"
        case "archived":
            return "archived"
    return "draft"


def is_status(cell: str) -> bool:
    return cell.strip().casefold() == status_of(cell)


def names_in(field: Field, cell: str) -> list[str]:
    """What a cell of references, media or options lists."""
    if not field.multiple:
        return [cell if cell in {option.value for option in field.options} else cell.strip()]
    if cell.lstrip().startswith("["):
        try:
            return _LIST.decode(cell)
        except msgspec.DecodeError:
            pass
    return [name for name in map(str.strip, cell.split(",")) if name]


def listed(field: Field, names: list[str]) -> Raw:
    """The value of a field that holds one, or several, of something."""
    return json_of(names if field.multiple else names[0])


def json_of(value: object) -> Raw:
    return Raw(msgspec.json.encode(value))


def same(field: Field, value: Raw, held: Raw) -> bool:
    """Whether two values of a field mean the same, however they are written."""
    if bytes(value) == bytes(held):
        return True
    try:
        return field.type != "json" and _meaning(field, value) == _meaning(field, held)
    except (msgspec.DecodeError, ArithmeticError):
        return False


def _meaning(field: Field, value: Raw) -> Any:
    """Of the inner fields of repeaters, those that there are and that hold something."""
    if field.type != "repeater" or bytes(value) == b"null":
        return _ANY.decode(value)
    return [
        {
            inner.slug: _meaning(inner, element[inner.slug])
            if inner.type != "json"
            else bytes(element[inner.slug])
            for inner in field.fields
            if bytes(element.get(inner.slug, b"null")) != b"null"
        }
        for element in _ELEMENTS.decode(value)
    ]


def _written(field: Field, cell: str, epoch: Epoch | None) -> Raw:
    match field.type:
        case "number":
            return _number(cell.strip())
        case "boolean":
            return _boolean(cell.strip())
        case "datetime":
            return _datetime(field, cell.strip(), epoch)
        case "select":
            return listed(field, names_in(field, cell))
        case "json" | "repeater":
            return Raw(minified(cell.encode()))
    return json_of(cell[2:] if _QUOTES.fullmatch(cell) else cell)


def _number(text: str) -> Raw:
    """Digit for digit as written, without what JSON has no place for: commas, a plus, zeros."""
    match = _NUMBER.fullmatch(text)
    if match is None or not (match[2] or match[3]):
        raise BadCell("takes a number, such as 1234.5 or 1,234.5")
    sign, whole, fraction, exponent = (part or "" for part in match.groups())
    digits = whole.replace(",", "").lstrip("0") or "0"
    return Raw(f"{sign.strip('+')}{digits}{fraction}{exponent}".encode())


def _boolean(text: str) -> Raw:
    if text.casefold() in TRUE:
        return Raw(b"true")
    if text.casefold() in FALSE:
        return Raw(b"false")
    raise BadCell("takes true or false, yes or no, 1 or 0, on or off")


def _datetime(field: Field, text: str, epoch: Epoch | None) -> Raw:
    if not field.range:
        return json_of(day_of(text, epoch) or text)
    start, slash, end = text.partition("/")
    if not slash:
        raise BadCell("takes a range of ISO 8601 dates: from / to")
    return json_of({"from": start.strip(), "to": end.strip()})


def day_of(cell: str, epoch: Epoch | None) -> str | None:
    """The day, and the time, that a workbook's number counts from its epoch."""
    return iso_date_time(cell.strip(), epoch) if epoch else None
