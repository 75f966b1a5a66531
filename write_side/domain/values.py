"""Checks that JSON values fit their fields (behaviour.md, "Field values"), and finds what they
refer to.

Values are kept as the JSON text that was sent (``msgspec.Raw``), so numbers of any size, the order
of keys and escapes are returned unchanged.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec import Raw, Struct

from write_side.domain.refusals import InvalidField

if TYPE_CHECKING:  # fields refer to their types, and types to these functions
    from write_side.domain.definition import Field

X = TypeVar("X")

NULL = Raw(b"null")
MAX_DIGITS = 4_000
"""The length of a number in JSON text. Python clients fail on integers of more than 4,300
digits."""
NO_TEXT = (NULL, Raw(b'""'))
EMPTY = (*NO_TEXT, Raw(b"[]"))
MAX_ITEMS = 5_000
"""Elements of a repeater, or values of a multiple field; each is checked separately."""
TOO_MANY_ITEMS = f"an array of up to {MAX_ITEMS:,}: use several fields or entries"

_STRING = msgspec.json.Decoder(str)
_STRINGS = msgspec.json.Decoder(list[str])
_RANGE = msgspec.json.Decoder(dict[str, str])
_ELEMENTS = msgspec.json.Decoder(list[dict[str, Raw]])
_ITEMS = msgspec.json.Decoder(list[Raw])
text_of = _STRING.decode
ends_of = _RANGE.decode
"""``from`` and ``to`` of a range."""
elements = _ELEMENTS.decode
"""The elements of a repeater, each with its values by field slug."""
_encode = msgspec.json.Encoder().encode
_AS_DIGITS = bytes(48 if chr(byte) in "0123456789.eE+-" else 32 for byte in range(256))
_LONG_RUN = b"0" * (MAX_DIGITS + 1)
_SHORT_NUMBERS = re.compile(
    rb"""(?:[^"0-9-]++|"[^"\\]*+(?:\\.[^"\\]*+)*+"|[0-9-][0-9.eE+-]{0,%d}+(?![0-9.eE+-]))*+"""
    % (MAX_DIGITS - 1),
    re.DOTALL,
)
# Each word is read once: an expression that begins at a colon takes quadratic time.
_OFFSET = re.compile(r"(?<!\S)(?=\S*:\d\d)(\S++) (\d\d:?\d\d)\Z", re.ASCII)
_POSITION = re.compile(r"\[\d+\]")
_ISO = re.compile(
    r"\d{4}-\d{2}-\d{2}"
    r"([Tt ]\d{2}:\d{2}(:\d{2}([.,]\d{1,9})?)?([Zz]|[+-]\d{2}(:?[0-5]\d)?)?)?",
    re.ASCII,
)


def checked(fields: Iterable[Field], values: Mapping[str, Raw], within: str = "") -> dict[str, Raw]:
    """The values of known fields, in the type's order; unknown slugs are ignored (§4.4).

    Raises InvalidField with the first field whose value does not fit, and what it takes.
    """
    accepted = {}
    for field in fields:
        if field.slug in values and field.spec.holds_values:
            path = f"{within}.{field.slug}" if within else field.slug
            accepted[field.slug] = checked_value(field, values[field.slug], path)
    return accepted


def unknown_members(
    fields: Iterable[Field], values: Mapping[str, Raw], largest: float = math.inf
) -> Iterator[tuple[str, ...]]:
    """The path of each member that ``checked`` ignores: inside a repeater it follows the repeater's
    slug, again for each element.

    ``values`` must fit the fields. Repeaters of more than ``largest`` bytes are left out.
    """
    known = {field.slug: field for field in fields if field.spec.holds_values}
    for slug, value in values.items():
        field = known.get(slug)
        if field is None:
            yield (slug,)
        elif field.spec.is_nested and not is_null(value) and len(bytes(value)) <= largest:
            for element in elements(value):
                for path in unknown_members(field.fields, element, largest):
                    yield (slug, *path)


def checked_value(field: Field, value: Raw, path: str) -> Raw:
    """The value as it is stored. ``null`` empties any field."""
    if is_null(value):
        return NULL
    spec = field.spec
    if not spec.fits(field, value):
        raise InvalidField(path, spec.expected(field))
    if not spec.is_nested and has_long_number(value):
        raise InvalidField(path, f"numbers of at most {MAX_DIGITS:,} characters")
    if (field.multiple or spec.is_nested) and _has_too_many_items(value):
        raise InvalidField(path, TOO_MANY_ITEMS)
    if not spec.is_nested:
        return value
    return json_of(
        [
            checked(field.fields, element, f"{path}[{number}]")
            for number, element in enumerate(elements(value))
        ]
    )


def has_long_number(value: Raw) -> bool:
    """Whether the JSON has a number of more than MAX_DIGITS characters."""
    document = bytes(value)
    if len(document) <= MAX_DIGITS or _LONG_RUN not in document.translate(_AS_DIGITS):
        return False
    # The digits may be inside a string. A match ends at the first number that is too long.
    within = _SHORT_NUMBERS.match(document)
    return within is None or within.end() < len(document)


def is_null(value: Raw) -> bool:
    return value == NULL


def parts(*fields: Mapping[str, Raw]) -> int:
    """The number of commas in and between the values: about as many as there are values, references
    and elements, or more."""
    return b",".join(chain.from_iterable(values.values() for values in fields)).count(b",")


def json_of(value: object) -> Raw:
    return Raw(_encode(value))


def _has_too_many_items(array: Raw) -> bool:
    return bytes(array).count(b",") >= MAX_ITEMS and len(_ITEMS.decode(array)) > MAX_ITEMS


def texts_of(field: Field, value: Raw) -> list[str]:
    """The strings of a field that takes one or, with ``multiple``, several."""
    return _STRINGS.decode(value) if field.multiple else [text_of(value)]


def with_plus(text: str) -> str:
    """A time from a query, where an offset whose plus is not escaped begins with a space."""
    return _OFFSET.sub(r"\1+\2", text)


def is_iso_datetime(text: str) -> bool:
    """Whether the text is an ISO 8601 date or date-time of the calendar."""
    return moment_of(text) is not None


def moment_of(text: str) -> datetime | None:
    """The ISO 8601 date (midnight) or date-time, to the microsecond, with the offset that it has;
    None for any other text."""
    if not _ISO.fullmatch(text):
        return None
    try:
        return datetime.fromisoformat(text.upper())
    except ValueError:
        return None


def utc_of(text: str) -> datetime | None:
    """Like ``moment_of``, in UTC; a time without an offset is UTC."""
    time = moment_of(text)
    if time is None:
        return None
    try:
        return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
    except OverflowError:  # the first and last day of the calendar, in some time zones
        return None


def is_string(_field: Field, value: Raw) -> bool:
    return bytes(value).startswith(b'"')


def is_finite_number(_field: Field, value: Raw) -> bool:
    try:
        return bytes(value)[:1] in b"-0123456789" and math.isfinite(float(bytes(value)))
    except ValueError:
        return False


def is_boolean(_field: Field, value: Raw) -> bool:
    return bytes(value) in (b"true", b"false")


def is_date_or_range(field: Field, value: Raw) -> bool:
    if not field.range:
        text = _decoded(_STRING, value)
        return text is not None and is_iso_datetime(text)
    ends = _decoded(_RANGE, value)
    return (
        ends is not None
        and set(ends) == {"from", "to"}
        and all(map(is_iso_datetime, ends.values()))
    )


def is_one_or_many(field: Field, value: Raw) -> bool:
    """A string, or an array of strings with ``multiple``."""
    return _one_or_many(field, value) is not None


def is_choice(field: Field, value: Raw) -> bool:
    chosen = _one_or_many(field, value)
    return chosen is not None and {option.value for option in field.options}.issuperset(chosen)


def is_array_of_objects(_field: Field, value: Raw) -> bool:
    return _decoded(_ELEMENTS, value) is not None


class Target(Struct, frozen=True):
    """What a checked value refers to: an entry or a media file, depending on the field's type."""

    path: str
    field: Field
    id: str

    @property
    def is_entry(self) -> bool:
        return self.field.spec.refers_to == "entry"

    @property
    def reference_key(self) -> tuple[str, str]:
        """The path without the positions of elements, and the id."""
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
        if field.spec.refers_to:
            yield from (Target(path, field, target) for target in texts_of(field, value))
        elif field.may_refer:
            for number, element in enumerate(elements(value)):
                yield from targets(field.fields, element, f"{path}[{number}]")


def missing(fields: Iterable[Field], values: Mapping[str, Raw], within: str = "") -> list[str]:
    """The paths of required fields without a value, including those inside repeaters."""
    absent: list[str] = []
    for field in fields:
        value = values.get(field.slug, NULL)
        path = f"{within}.{field.slug}" if within else field.slug
        if is_empty(field, value):
            absent.extend([path] if field.required else [])
        elif _needs_values(field):
            for number, element in enumerate(elements(value)):
                absent.extend(missing(field.fields, element, f"{path}[{number}]"))
    return absent


def _needs_values(field: Field) -> bool:
    """Whether any field inside this one is required."""
    return any(inner.required or _needs_values(inner) for inner in field.fields)


def is_empty(field: Field, value: Raw) -> bool:
    """Whether the value is null, "" or []. If any JSON is a value, only null is empty."""
    return is_null(value) if field.spec.any_json else value in EMPTY


def is_unchanged(field: Field, value: Raw, current: Raw) -> bool:
    """Whether an update to the value changes nothing. A repeater without elements is always shown
    as ``[]``, even if null is stored."""
    are_empty = field.spec.is_nested and is_empty(field, value) and is_empty(field, current)
    return are_empty or value == current


def _one_or_many(field: Field, value: Raw) -> list[str] | None:
    if field.multiple:
        return _decoded(_STRINGS, value)
    text = _decoded(_STRING, value)
    return None if text is None else [text]


def _decoded(decoder: msgspec.json.Decoder[X], value: Raw) -> X | None:
    try:
        return decoder.decode(value)
    except msgspec.ValidationError:
        return None
