"""A field's value as a page shows it: by the field's kind, with what it points at by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Raw, Struct

from api.dashboard.plain_text import has_markup, plain
from read_side.entry_details import EntryTitle
from read_side.lookups import MediaFile
from write_side.domain.definition import Field

LONGEST = 20_000
"""Characters of a value: a page is not where two megabytes are read."""

_EMPTY = (b"null", b'""', b"[]")
_ELEMENTS = msgspec.json.Decoder(list[dict[str, Raw]])


class Known(Struct, frozen=True):
    """What the values of an entry point at, by id."""

    entries: Mapping[str, EntryTitle]
    media: Mapping[str, MediaFile]


class Shown(Struct):
    """``kind`` says how: ``nothing``, ``text``, ``rich``, ``number``, ``yes``, ``no``, ``time``,
    ``range``, ``labels``, ``entries``, ``media``, ``json``, ``elements``; see ``_values.html``."""

    kind: str
    text: str = ""
    at: datetime | None = None
    parts: list[Shown] = []
    entries: list[tuple[str, EntryTitle | None]] = []
    media: list[tuple[str, MediaFile | None]] = []
    elements: list[list[tuple[Field, Shown]]] = []
    is_cut: bool = False


NOTHING = Shown("nothing")


def pointed_at(fields: tuple[Field, ...], values: Mapping[str, Raw], kind: str) -> set[str]:
    """The ids that the values of all fields of a kind name, those in repeaters too."""
    return set(_ids(fields, values, kind))


def shown(field: Field, value: Raw, known: Known) -> Shown:
    if bytes(value) in _EMPTY:
        return NOTHING
    # As they were written: no number is too large for that.
    if field.type == "number":
        return Shown("number", bytes(value).decode())
    if field.type == "json":
        return _json(value)
    if field.type == "repeater":
        return _elements(field, value, known)
    return _plain(field, msgspec.json.decode(value), known)


def _plain(field: Field, given: Any, known: Known) -> Shown:
    if field.type == "boolean":
        return Shown("yes" if given else "no")
    if field.type == "datetime":
        return _range(given) if field.range else _time(given)
    if field.type == "select":
        labels = {option.value: option.label for option in field.options}
        return Shown("labels", parts=[_text(labels.get(one, one)) for one in _many(given)])
    if field.type == "reference":
        return Shown("entries", entries=[(one, known.entries.get(one)) for one in _many(given)])
    if field.type == "media":
        return Shown("media", media=[(one, known.media.get(one)) for one in _many(given)])
    return _rich(given) if field.type == "rich_text" else _text(str(given))


def _elements(field: Field, value: Raw, known: Known) -> Shown:
    null = Raw(b"null")
    return Shown(
        "elements",
        elements=[
            [
                (inner, shown(inner, element.get(inner.slug, null), known))
                for inner in field.fields
                if inner.type != "section"
            ]
            for element in _ELEMENTS.decode(value)
        ],
    )


def _text(text: str) -> Shown:
    return Shown("text", text[:LONGEST], is_cut=len(text) > LONGEST)


def _rich(given: str) -> Shown:
    """Readable, and its markup beside it where there is some."""
    text = given[:LONGEST]
    if not has_markup(text):
        return _text(given)
    return Shown("rich", plain(text), parts=[_text(given)], is_cut=len(given) > LONGEST)


def _json(value: Raw) -> Shown:
    text = msgspec.json.format(bytes(value), indent=2).decode()
    return Shown("json", text[:LONGEST], is_cut=len(text) > LONGEST)


def _range(given: Any) -> Shown:
    ends = [given.get("from"), given.get("to")]
    return Shown("range", parts=[_time(end) if end else NOTHING for end in ends])


def _time(text: str) -> Shown:
    """As it was written, which says more than we could: a day, a time, an offset."""
    return Shown("time", text)


def _many(given: Any) -> list[str]:
    return given if isinstance(given, list) else [given]


def _ids(fields: tuple[Field, ...], values: Mapping[str, Raw], kind: str) -> Iterator[str]:
    for field in fields:
        value = values.get(field.slug)
        if value is None or bytes(value) == b"null":
            continue
        if field.type == kind:
            yield from _many(msgspec.json.decode(value))
        elif field.type == "repeater":
            for element in _ELEMENTS.decode(value):
                yield from _ids(field.fields, element, kind)
