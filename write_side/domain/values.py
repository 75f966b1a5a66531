"""Whether a JSON value fits its field (readings, «Values of fields»).

Values stay the JSON text that was sent (``msgspec.Raw``), so numbers of any size, the order of
keys and escapes come back as they came.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import TypeVar

import msgspec
from msgspec import Raw, Struct

from write_side.domain.definition import Field
from write_side.domain.refusals import InvalidField

X = TypeVar("X")

NULL = Raw(b"null")

_STRING = msgspec.json.Decoder(str)
_STRINGS = msgspec.json.Decoder(list[str])
_RANGE = msgspec.json.Decoder(dict[str, str])
_ELEMENTS = msgspec.json.Decoder(list[dict[str, Raw]])
_POSITION = re.compile(r"\[\d+\]")
_ISO = re.compile(
    r"\d{4}-\d{2}-\d{2}"
    r"([Tt ]\d{2}:\d{2}(:\d{2}([.,]\d{1,9})?)?([Zz]|[+-]\d{2}(:?[0-5]\d)?)?)?",
    re.ASCII,
)


def checked(fields: Iterable[Field], values: Mapping[str, Raw], within: str = "") -> dict[str, Raw]:
    """The values of known fields, in the type's order; unknown slugs are ignored (§4.4).

    Raises InvalidField naming the first field whose value does not fit, and what it takes.
    """
    accepted = {}
    for field in fields:
        if field.type != "section" and field.slug in values:
            path = f"{within}.{field.slug}" if within else field.slug
            accepted[field.slug] = checked_value(field, values[field.slug], path)
    return accepted


def checked_value(field: Field, value: Raw, path: str) -> Raw:
    """The value as it is stored. ``null`` empties any field."""
    if is_null(value):
        return NULL
    return _CHECKS[field.type](field, value, path)


def is_null(value: Raw) -> bool:
    return bytes(value) == b"null"


def is_iso_datetime(text: str) -> bool:
    """Whether the text is an ISO 8601 date or date-time of the calendar."""
    if not _ISO.fullmatch(text):
        return False
    try:
        datetime.fromisoformat(text.upper().replace(",", "."))
    except ValueError:
        return False
    return True


def _text(_field: Field, value: Raw, path: str) -> Raw:
    return _of_kind(value, b'"', path, "a string")


def _number(_field: Field, value: Raw, path: str) -> Raw:
    expected = "a finite number"
    try:
        finite = bytes(value)[:1] in b"-0123456789" and math.isfinite(float(bytes(value)))
    except ValueError:
        finite = False
    if not finite:
        raise InvalidField(path, expected)
    return value


def _boolean(_field: Field, value: Raw, path: str) -> Raw:
    if bytes(value) not in (b"true", b"false"):
        raise InvalidField(path, "true or false")
    return value


def _datetime(field: Field, value: Raw, path: str) -> Raw:
    if field.range:
        expected = 'a range {"from": …, "to": …} of ISO 8601 dates or date-times'
        ends = _decoded(_RANGE, value, path, expected)
        if set(ends) != {"from", "to"} or not all(map(is_iso_datetime, ends.values())):
            raise InvalidField(path, expected)
        return value
    expected = "an ISO 8601 date or date-time, such as 2026-01-31 or 2026-01-31T09:30:00Z"
    if not is_iso_datetime(_decoded(_STRING, value, path, expected)):
        raise InvalidField(path, expected)
    return value


def _select(field: Field, value: Raw, path: str) -> Raw:
    options = [option.value for option in field.options]
    listed = ", ".join(options)
    chosen = _one_or_many(field, value, path, f"one of: {listed}", f"an array of: {listed}")
    if not set(chosen) <= set(options):
        raise InvalidField(path, f"{'an array of' if field.multiple else 'one of'}: {listed}")
    return value


def _reference(field: Field, value: Raw, path: str) -> Raw:
    _one_or_many(field, value, path, "the id of an entry", "an array of ids of entries")
    return value


def _media(field: Field, value: Raw, path: str) -> Raw:
    _one_or_many(field, value, path, "the id of a media file", "an array of ids of media files")
    return value


def _json(_field: Field, value: Raw, _path: str) -> Raw:
    return value


def _repeater(field: Field, value: Raw, path: str) -> Raw:
    elements = _decoded(_ELEMENTS, value, path, "an array of objects keyed by its field slugs")
    accepted = [
        checked(field.fields, element, f"{path}[{number}]")
        for number, element in enumerate(elements)
    ]
    return Raw(msgspec.json.encode(accepted))


_CHECKS: dict[str, Callable[[Field, Raw, str], Raw]] = {
    "text": _text,
    "rich_text": _text,
    "number": _number,
    "boolean": _boolean,
    "datetime": _datetime,
    "select": _select,
    "reference": _reference,
    "media": _media,
    "json": _json,
    "repeater": _repeater,
}


class Target(Struct, frozen=True):
    """What a checked value refers to: an entry or a media file, as the field's type says."""

    path: str
    field: Field
    id: str

    @property
    def held_as(self) -> tuple[str, str]:
        """Where in the type, whichever element of a repeater, and the id."""
        return (_POSITION.sub("", self.path), self.id)


def targets(
    fields: Iterable[Field], values: Mapping[str, Raw], within: str = ""
) -> Iterator[Target]:
    """Everything that checked values refer to."""
    for field in fields:
        value = values.get(field.slug, NULL)
        if is_null(value):
            continue
        path = f"{within}.{field.slug}" if within else field.slug
        if field.type in ("reference", "media"):
            ids = _STRINGS.decode(value) if field.multiple else [_STRING.decode(value)]
            yield from (Target(path, field, target) for target in ids)
        elif field.type == "repeater":
            for number, element in enumerate(_ELEMENTS.decode(value)):
                yield from targets(field.fields, element, f"{path}[{number}]")


def missing(fields: Iterable[Field], values: Mapping[str, Raw], within: str = "") -> list[str]:
    """The paths of required fields without a value, those inside repeaters included."""
    absent: list[str] = []
    for field in fields:
        value = values.get(field.slug, NULL)
        path = f"{within}.{field.slug}" if within else field.slug
        if is_empty(field, value):
            absent.extend([path] if field.required else [])
        elif field.type == "repeater":
            for number, element in enumerate(_ELEMENTS.decode(value)):
                absent.extend(missing(field.fields, element, f"{path}[{number}]"))
    return absent


def is_empty(field: Field, value: Raw) -> bool:
    """Whether nothing is in it: null, "" or []. In a json field the latter two are values."""
    empty = (b"null",) if field.type == "json" else (b"null", b'""', b"[]")
    return bytes(value) in empty


def _one_or_many(field: Field, value: Raw, path: str, one: str, many: str) -> list[str]:
    if field.multiple:
        return _decoded(_STRINGS, value, path, many)
    return [_decoded(_STRING, value, path, one)]


def _of_kind(value: Raw, opening: bytes, path: str, expected: str) -> Raw:
    if bytes(value)[:1] != opening:
        raise InvalidField(path, expected)
    return value


def _decoded(decoder: msgspec.json.Decoder[X], value: Raw, path: str, expected: str) -> X:
    try:
        return decoder.decode(value)
    except msgspec.ValidationError:
        raise InvalidField(path, expected) from None
