"""A field's value as a page shows it: in the display of its type, and with the names of the entries
and files that it refers to."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from html.parser import HTMLParser

import msgspec
from msgspec import Raw, Struct

from api.dashboard.dashboard_request import DashboardRequest
from read_side.entry_details import EntryTitle, titles
from read_side.lookups import MediaFile, media_files
from write_side.domain.definition import Field, value_fields
from write_side.domain.field_types import Display
from write_side.domain.values import NULL, elements, ends_of, text_of, texts_of

LONGEST = 20_000
"""Characters of a value that a page shows at most."""

_EMPTY = (b"null", b'""', b"[]")
_IDS = msgspec.json.Decoder(str | list[str] | None)
_BLOCKS = re.compile(
    r"address|article|aside|blockquote|br|d[dlt]|div|fig(ure|caption)|footer|h[1-6r]|header|li|main"
    r"|[ou]l|p|pre|section|table|td|th|tr"
)
_HIDDEN = frozenset(("script", "style", "template"))
_MARKUP = re.compile(r"</?[a-zA-Z][^<>]*>")


class ReferenceTargets(Struct, frozen=True):
    """The entries and files that an entry's values refer to, by id."""

    entries: Mapping[str, EntryTitle]
    media: Mapping[str, MediaFile]


class DisplayValue(Struct):
    """A value as ``_values.html`` shows it; ``display`` "none" is an empty one."""

    display: Display
    text: str = ""
    parts: list[DisplayValue] = []
    entries: list[tuple[str, EntryTitle | None]] = []
    media: list[tuple[str, MediaFile | None]] = []
    elements: list[list[tuple[Field, DisplayValue]]] = []
    is_cut: bool = False


async def reference_targets(
    request: DashboardRequest, entries: Collection[str], media: Collection[str], locale: str
) -> ReferenceTargets:
    """Those of the ids that exist."""
    return ReferenceTargets(
        entries=await titles(*request.read_model, entries, locale),
        media=await media_files(request.service.read_model, request.scope.workspace, media),
    )


async def reference_names(
    request: DashboardRequest, values: Iterable[tuple[Field, Raw]], locale: str = ""
) -> dict[str, str]:
    """Titles of entries and names of files by id; ``values`` come with their fields. Deleted
    entries and files are missing."""
    ids: dict[str, set[str]] = {"entry": set(), "media": set()}
    for field, value in values:
        if field.spec.refers_to:
            ids[field.spec.refers_to].update(_ids(value))
    found = await reference_targets(request, ids["entry"], ids["media"], locale)
    return {
        **{one.id: one.name for one in found.media.values()},
        **{one.id: one.title for one in found.entries.values()},
    }


def with_names(value: Raw, names: Mapping[str, str]) -> str:
    """The names of all references in a value, ids for unknown ones; "" for none."""
    return ", ".join(names.get(one, one) for one in _ids(value))


def _ids(value: Raw) -> list[str]:
    given = _IDS.decode(value)
    return given if isinstance(given, list) else [given] if given else []


EMPTY_VALUE = DisplayValue("none")


def display_value(field: Field, value: Raw, targets: ReferenceTargets) -> DisplayValue:
    if bytes(value) in _EMPTY:
        return EMPTY_VALUE
    return _DISPLAYS[field.spec.display](field, value, targets)


def _text(text: str) -> DisplayValue:
    return DisplayValue("text", text[:LONGEST], is_cut=len(text) > LONGEST)


def _markup(_field: Field, value: Raw, _targets: ReferenceTargets) -> DisplayValue:
    """Readable, with its markup as a part if it has some."""
    given = text_of(value)
    text = given[:LONGEST]
    if not has_markup(text):
        return _text(given)
    return DisplayValue("markup", plain(text), parts=[_text(given)], is_cut=len(given) > LONGEST)


def _flag(_field: Field, value: Raw, _targets: ReferenceTargets) -> DisplayValue:
    return DisplayValue("flag", "Yes" if bytes(value) == b"true" else "No")


def _date(field: Field, value: Raw, _targets: ReferenceTargets) -> DisplayValue:
    """As it was written, which shows whether it is a day or a time, and its offset."""
    if not field.range:
        return DisplayValue("date", parts=[_text(text_of(value))])
    ends = ends_of(value)
    return DisplayValue("date", parts=[_text(ends["from"]), _text(ends["to"])])


def _choice(field: Field, value: Raw, _targets: ReferenceTargets) -> DisplayValue:
    labels = {option.value: option.label for option in field.options}
    return DisplayValue(
        "choice", parts=[_text(labels.get(one, one)) for one in texts_of(field, value)]
    )


def _entries(field: Field, value: Raw, targets: ReferenceTargets) -> DisplayValue:
    found = [(one, targets.entries.get(one)) for one in texts_of(field, value)]
    return DisplayValue("entries", entries=found)


def _media(field: Field, value: Raw, targets: ReferenceTargets) -> DisplayValue:
    return DisplayValue(
        "media", media=[(one, targets.media.get(one)) for one in texts_of(field, value)]
    )


def _code(_field: Field, value: Raw, _targets: ReferenceTargets) -> DisplayValue:
    text = msgspec.json.format(bytes(value), indent=2).decode()
    return DisplayValue("code", text[:LONGEST], is_cut=len(text) > LONGEST)


def _table(field: Field, value: Raw, targets: ReferenceTargets) -> DisplayValue:
    inner = tuple(value_fields(field.fields))
    rows = [
        [(one, display_value(one, element.get(one.slug, NULL), targets)) for one in inner]
        for element in elements(value)
    ]
    return DisplayValue("table", elements=rows)


_DISPLAYS: dict[Display, Callable[[Field, Raw, ReferenceTargets], DisplayValue]] = {
    "text": lambda _field, value, _targets: _text(text_of(value)),
    "markup": _markup,
    # As it was written: no number is too large for that.
    "number": lambda _field, value, _targets: DisplayValue("number", bytes(value).decode()),
    "flag": _flag,
    "date": _date,
    "choice": _choice,
    "entries": _entries,
    "media": _media,
    "code": _code,
    "table": _table,
}


def has_markup(text: str) -> bool:
    return _MARKUP.search(text) is not None


def plain(text: str) -> str:
    """One line for each block element."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    lines = "".join(reader.parts).split("\n")
    return "\n".join(kept for line in lines if (kept := " ".join(line.split())))


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002
        self._hidden += tag in _HIDDEN
        self._break(tag)
        if tag == "li":
            self.parts.append("• ")

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in _HIDDEN and self._hidden > 0
        self._break(tag)

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.parts.append(data.replace("\n", " "))

    def _break(self, tag: str) -> None:
        if _BLOCKS.fullmatch(tag):
            self.parts.append("\n")
