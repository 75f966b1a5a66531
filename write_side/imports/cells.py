"""Cells as values: the text of a spreadsheet to the JSON of a field (specification §4.6)."""

from __future__ import annotations

import re

import msgspec
from msgspec import Raw

from write_side.domain.definition import Field
from write_side.domain.events import Status
from write_side.domain.refusals import InvalidField, InvalidText
from write_side.domain.text import NotJSON, minified, unstorable
from write_side.domain.values import checked_value

TRUE = frozenset({"true", "yes", "1", "on"})
FALSE = frozenset({"false", "no", "0", "off"})

_NUMBER = re.compile(
    r"([+-]?)(\d{1,3}(?:,\d{3})+|\d+)?(\.\d+)?([eE][+-]?\d+)?",
    re.ASCII,
)


class BadCell(Exception):
    """The cell cannot be a value of its field; the text says what it should be."""


def is_blank(field: Field, cell: str) -> bool:
    """White space is a text, and nothing to every other type."""
    return not (cell if field.type in ("text", "rich_text") else cell.strip())


def value_of(field: Field, cell: str) -> Raw:
    """The value of a cell that is not blank and names nothing. Raises BadCell."""
    check_storable(cell)
    try:
        return checked_value(field, _written(field, cell), field.slug)
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


def names_in(field: Field, cell: str) -> list[str]:
    """What a cell of references, media or options lists."""
    if not field.multiple:
        return [cell.strip()]
    return [name for name in map(str.strip, cell.split(",")) if name]


def listed(field: Field, names: list[str]) -> Raw:
    """The value of a field that holds one, or several, of something."""
    return json_of(names if field.multiple else names[0])


def json_of(value: object) -> Raw:
    return Raw(msgspec.json.encode(value))


def _written(field: Field, cell: str) -> Raw:
    match field.type:
        case "number":
            return _number(cell.strip())
        case "boolean":
            return _boolean(cell.strip())
        case "datetime":
            return _datetime(field, cell.strip())
        case "select":
            return listed(field, names_in(field, cell))
        case "json" | "repeater":
            return Raw(minified(cell.encode()))
    return json_of(cell)


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


def _datetime(field: Field, text: str) -> Raw:
    if not field.range:
        return json_of(text)
    start, slash, end = text.partition("/")
    if not slash:
        raise BadCell("takes a range of ISO 8601 dates: from / to")
    return json_of({"from": start.strip(), "to": end.strip()})
