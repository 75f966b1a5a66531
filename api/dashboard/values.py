"""A field's value as a page shows it: formatted for its type, with the names of the entries and
files that it refers to."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping

import msgspec
from msgspec import Raw, Struct

from api.dashboard.dashboard_request import DashboardRequest
from api.dashboard.excerpts import Excerpt
from api.dashboard.plain_text import has_markup, plain
from read_side.entry_details import EntryTitle, titles
from read_side.lookups import MediaFile, media_files
from write_side.domain.definition import Field
from write_side.domain.field_types import Display
from write_side.domain.values import ends_of, text_of, texts_of

MAX_INDENTED = 100_000
"""Bytes."""
_ESCAPE = re.compile(
    r"\\(?:u([Dd][89ABab]..)\\u([Dd][C-Fc-f]..)|u(....)|[^u])".replace(".", "[0-9A-Fa-f]")
)
_IDS = msgspec.json.Decoder(str | list[str] | None)


class ReferenceTargets(Struct, frozen=True):
    """The entries and files that an entry's values refer to, by id."""

    entries: Mapping[str, EntryTitle]
    media: Mapping[str, MediaFile]


class DisplayValue(Struct):
    """A value as ``_values.html`` shows it; ``display`` is "none" if it is empty."""

    display: Display
    text: str = ""
    parts: list[DisplayValue] = []
    entries: list[tuple[str, EntryTitle | None]] = []
    media: list[tuple[str, MediaFile | None]] = []
    elements: list[list[tuple[Field, DisplayValue]]] = []
    cut: Excerpt | None = None
    """Set if this is not the whole value."""


async def reference_targets(
    request: DashboardRequest, entries: Collection[str], media: Collection[str], locale: str
) -> ReferenceTargets:
    """The targets that exist."""
    return ReferenceTargets(
        entries=await titles(*request.read_model, entries, locale),
        media=await media_files(request.service.read_model, request.scope.workspace, media),
    )


async def reference_names(
    request: DashboardRequest, values: Iterable[tuple[Field, Raw]], locale: str = ""
) -> dict[str, str]:
    """Titles of entries and names of files by id; ``values`` come with their fields."""
    ids: dict[str, set[str]] = {"entry": set(), "media": set()}
    for field, value in values:
        if field.spec.refers_to:
            ids[field.spec.refers_to].update(_ids(value))
    targets = await reference_targets(request, ids["entry"], ids["media"], locale)
    return {
        **{one: f"deleted entry {one}" for one in ids["entry"]},
        **{one: f"deleted file {one}" for one in ids["media"]},
        **{one.id: one.name for one in targets.media.values()},
        **{one.id: one.title for one in targets.entries.values()},
    }


def with_names(value: Raw, names: Mapping[str, str]) -> str:
    """The names of all references in a value; ids if unknown, "" if there are none."""
    return ", ".join(names.get(one, one) for one in _ids(value))


def _ids(value: Raw) -> list[str]:
    ids = _IDS.decode(value)
    return ids if isinstance(ids, list) else [ids] if ids else []


def display_value(excerpt: Excerpt, targets: ReferenceTargets) -> DisplayValue:
    if excerpt.is_empty:
        value = DisplayValue("none")
    else:
        value = _DISPLAYS[excerpt.field.spec.display](excerpt, targets)
    value.cut = None if excerpt.is_whole else excerpt
    return value


def _text(text: str) -> DisplayValue:
    return DisplayValue("text", text)


def _markup(excerpt: Excerpt, _targets: ReferenceTargets) -> DisplayValue:
    """Readable text; with some of its markup if it has any."""
    text = text_of(excerpt.value)
    if not has_markup(text):
        return _text(text)
    return DisplayValue("markup", plain(text), parts=[_text(text)])


def _flag(excerpt: Excerpt, _targets: ReferenceTargets) -> DisplayValue:
    return DisplayValue("flag", "Yes" if bytes(excerpt.value) == b"true" else "No")


def _date(excerpt: Excerpt, _targets: ReferenceTargets) -> DisplayValue:
    """With the precision and the offset with which it was written."""
    if not excerpt.field.range:
        return DisplayValue("date", parts=[_text(text_of(excerpt.value))])
    ends = ends_of(excerpt.value)
    return DisplayValue("date", parts=[_text(ends["from"]), _text(ends["to"])])


def _choice(excerpt: Excerpt, _targets: ReferenceTargets) -> DisplayValue:
    labels = {option.value: option.label for option in excerpt.field.options}
    chosen = texts_of(excerpt.field, excerpt.value)
    return DisplayValue("choice", parts=[_text(labels.get(value, value)) for value in chosen])


def _entries(excerpt: Excerpt, targets: ReferenceTargets) -> DisplayValue:
    found = [(one, targets.entries.get(one)) for one in excerpt.targets("entry")]
    return DisplayValue("entries", entries=found)


def _media(excerpt: Excerpt, targets: ReferenceTargets) -> DisplayValue:
    found = [(one, targets.media.get(one)) for one in excerpt.targets("media")]
    return DisplayValue("media", media=found)


def readable(json: str) -> str:
    """JSON with letters in place of their escapes, which many clients write for all but ASCII."""
    return _ESCAPE.sub(_unescaped, json) if "\\u" in json else json


def _unescaped(escape: re.Match[str]) -> str:
    """An escape is kept if its character is invisible, ASCII or half of a pair."""
    high, low, plain = escape.groups()
    units = f"{high}{low}" if high else plain or ""
    character = bytes.fromhex(units).decode("utf-16-be", "replace")
    is_kept = character.isascii() or character == "\ufffd" or not character.isprintable()
    return escape[0] if is_kept else character


def _code(excerpt: Excerpt, _targets: ReferenceTargets) -> DisplayValue:
    """Indented, unless deep nesting would multiply its size; a part is shown as stored."""
    raw = bytes(excerpt.value)
    text = msgspec.json.format(raw, indent=2) if excerpt.is_whole else raw
    return DisplayValue("code", readable((text if len(text) <= MAX_INDENTED else raw).decode()))


def _table(excerpt: Excerpt, targets: ReferenceTargets) -> DisplayValue:
    rows = [
        [(part.field, display_value(part, targets)) for part in element]
        for element in excerpt.elements
    ]
    return DisplayValue("table", elements=rows)


_DISPLAYS: dict[Display, Callable[[Excerpt, ReferenceTargets], DisplayValue]] = {
    "text": lambda excerpt, _targets: _text(text_of(excerpt.value)),
    "markup": _markup,
    # As it was written, so that no number is too large.
    "number": lambda shown, _targets: DisplayValue("number", bytes(shown.value).decode()),
    "flag": _flag,
    "date": _date,
    "choice": _choice,
    "entries": _entries,
    "media": _media,
    "code": _code,
    "table": _table,
}
