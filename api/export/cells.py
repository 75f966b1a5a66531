"""Values as cells, so that an import reads the same values from them (specification §4.6).

Nothing stored is a blank cell. Where the plain notation of a list would not read back, the cell is
a JSON array; an empty text is two double quotes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec
from msgspec import Raw

from write_side.domain.definition import Field

_STRING = msgspec.json.Decoder(str)
_STRINGS = msgspec.json.Decoder(list[str])
_RANGE = msgspec.json.Decoder(dict[str, str])
_encode = msgspec.json.Encoder().encode

Names = Mapping[str, str]
"""Id of an entry that is referred to → what it is called; itself where that is missing."""


class Digits(str):
    """A number as JSON has it: no cell of text."""

    __slots__ = ()


def cell(field: Field, value: Raw | None, names: Names) -> str:
    """What is written for a stored value of the field."""
    if value is None or bytes(value) == b"null":
        return ""
    return _WRITTEN[field.type](field, value, names)


def referred_to(field: Field, value: Raw | None) -> list[str]:
    """The ids that a value of a reference field holds."""
    if value is None or bytes(value) == b"null":
        return []
    return _STRINGS.decode(value) if field.multiple else [_STRING.decode(value)]


def is_listable(name: str) -> bool:
    """Whether a list of names, separated by commas, gives the name back."""
    return name == name.strip() != "" and "," not in name and not name.startswith("[")


def _text(_field: Field, value: Raw, _names: Names) -> str:
    text = _STRING.decode(value)
    # Of nothing but quotes: "" is the empty text, so any other that looks like it gets longer.
    return text if text.strip('"') or text == '"' else f'"{text}"'


def _number(_field: Field, value: Raw, _names: Names) -> str:
    return Digits(bytes(value).decode())


def _verbatim(_field: Field, value: Raw, _names: Names) -> str:
    return bytes(value).decode()


def _datetime(field: Field, value: Raw, _names: Names) -> str:
    if not field.range:
        return _STRING.decode(value)
    ends = _RANGE.decode(value)
    return f"{ends['from']} / {ends['to']}"


def _select(field: Field, value: Raw, _names: Names) -> str:
    return _list(_STRINGS.decode(value)) if field.multiple else _STRING.decode(value)


def _reference(field: Field, value: Raw, names: Names) -> str:
    called = [names.get(entry_id, entry_id) for entry_id in referred_to(field, value)]
    return _list(called) if field.multiple else called[0]


def _list(names: Sequence[str]) -> str:
    if names and all(map(is_listable, names)):
        return ", ".join(names)
    return _encode(names).decode()


_WRITTEN: dict[str, Callable[[Field, Raw, Names], str]] = {
    "text": _text,
    "rich_text": _text,
    "number": _number,
    "boolean": _verbatim,
    "datetime": _datetime,
    "select": _select,
    "reference": _reference,
    "media": _select,
    "json": _verbatim,
    "repeater": _verbatim,
}
