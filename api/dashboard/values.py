"""A field's value as a page shows it: by how its type is displayed, and with the names of what it
refers to."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec
from msgspec import Raw, Struct

from api.dashboard.plain_text import has_markup, plain
from read_side.entry_details import EntryTitle
from read_side.lookups import MediaFile
from write_side.domain.definition import Field, values_fields
from write_side.domain.field_types import Display
from write_side.domain.values import NULL, elements, ends_of, text_of, texts_of

LONGEST = 20_000
"""Characters of a value that a page shows at most."""

_EMPTY = (b"null", b'""', b"[]")


class Known(Struct, frozen=True):
    """What the values of an entry refer to, by id."""

    entries: Mapping[str, EntryTitle]
    media: Mapping[str, MediaFile]


class Shown(Struct):
    """A value as ``_values.html`` shows it; ``display`` "none" is an empty one."""

    display: Display
    text: str = ""
    parts: list[Shown] = []
    entries: list[tuple[str, EntryTitle | None]] = []
    media: list[tuple[str, MediaFile | None]] = []
    elements: list[list[tuple[Field, Shown]]] = []
    is_cut: bool = False


NOTHING = Shown("none")


def shown(field: Field, value: Raw, known: Known) -> Shown:
    if bytes(value) in _EMPTY:
        return NOTHING
    return _SHOWN[field.spec.display](field, value, known)


def _text(text: str) -> Shown:
    return Shown("text", text[:LONGEST], is_cut=len(text) > LONGEST)


def _markup(_field: Field, value: Raw, _known: Known) -> Shown:
    """Readable, with its markup as a part if it has some."""
    given = text_of(value)
    text = given[:LONGEST]
    if not has_markup(text):
        return _text(given)
    return Shown("markup", plain(text), parts=[_text(given)], is_cut=len(given) > LONGEST)


def _flag(_field: Field, value: Raw, _known: Known) -> Shown:
    return Shown("flag", "Yes" if bytes(value) == b"true" else "No")


def _date(field: Field, value: Raw, _known: Known) -> Shown:
    """As it was written, which shows whether it is a day or a time, and its offset."""
    if not field.range:
        return Shown("date", parts=[_text(text_of(value))])
    ends = ends_of(value)
    return Shown("date", parts=[_text(ends["from"]), _text(ends["to"])])


def _choice(field: Field, value: Raw, _known: Known) -> Shown:
    labels = {option.value: option.label for option in field.options}
    return Shown("choice", parts=[_text(labels.get(one, one)) for one in texts_of(field, value)])


def _entries(field: Field, value: Raw, known: Known) -> Shown:
    found = [(one, known.entries.get(one)) for one in texts_of(field, value)]
    return Shown("entries", entries=found)


def _media(field: Field, value: Raw, known: Known) -> Shown:
    return Shown("media", media=[(one, known.media.get(one)) for one in texts_of(field, value)])


def _code(_field: Field, value: Raw, _known: Known) -> Shown:
    text = msgspec.json.format(bytes(value), indent=2).decode()
    return Shown("code", text[:LONGEST], is_cut=len(text) > LONGEST)


def _table(field: Field, value: Raw, known: Known) -> Shown:
    inner = tuple(values_fields(field.fields))
    rows = [
        [(one, shown(one, element.get(one.slug, NULL), known)) for one in inner]
        for element in elements(value)
    ]
    return Shown("table", elements=rows)


_SHOWN: dict[Display, Callable[[Field, Raw, Known], Shown]] = {
    "text": lambda _field, value, _known: _text(text_of(value)),
    "markup": _markup,
    # As it was written: no number is too large for that.
    "number": lambda _field, value, _known: Shown("number", bytes(value).decode()),
    "flag": _flag,
    "date": _date,
    "choice": _choice,
    "entries": _entries,
    "media": _media,
    "code": _code,
    "table": _table,
}
