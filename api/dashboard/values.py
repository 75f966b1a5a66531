"""A field's value as a page shows it: formatted for its type, with the names of the entries and
files that it refers to. Lexbor reads rich text (ADR 31)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

import msgspec
from msgspec import Raw, Struct
from selectolax.lexbor import LexborHTMLParser

from api.dashboard.dashboard_request import DashboardRequest
from api.dashboard.excerpts import Excerpt
from read_side.entry_details import EntryTitle, titles
from read_side.lookups import MediaFile, media_files
from write_side.domain.definition import Field
from write_side.domain.field_types import Display
from write_side.domain.values import ends_of, text_of, texts_of
from write_side.domain.words import TAG

MAX_INDENTED = 100_000
"""Bytes."""
_ESCAPE = re.compile(
    r"\\(?:u([Dd][89ABab]..)\\u([Dd][C-Fc-f]..)|u(....)|[^u])".replace(".", "[0-9A-Fa-f]")
)
_BLOCKS = (
    "address,article,aside,blockquote,br,dd,div,dl,dt,figure,figcaption,footer,h1,h2,h3,h4,h5,h6,"
    "header,hr,li,main,ol,p,pre,section,table,td,th,tr,ul"
)
_HIDDEN = ["script", "style", "template"]
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
        **{entry_id: f"deleted entry {entry_id}" for entry_id in ids["entry"]},
        **{media_id: f"deleted file {media_id}" for media_id in ids["media"]},
        **{file.id: file.name for file in targets.media.values()},
        **{entry.id: entry.title for entry in targets.entries.values()},
    }


def with_names(value: Raw, names: Mapping[str, str]) -> str:
    """The names of all references in a value; ids if unknown, "" if there are none."""
    return ", ".join(names.get(target, target) for target in _ids(value))


def _ids(value: Raw) -> list[str]:
    ids = _IDS.decode(value)
    return ids if isinstance(ids, list) else [ids] if ids else []


def display_value(excerpt: Excerpt, targets: ReferenceTargets) -> DisplayValue:
    value = DisplayValue("none") if excerpt.is_empty else _display_value(excerpt, targets)
    value.cut = None if excerpt.is_whole else excerpt
    return value


def _display_value(excerpt: Excerpt, targets: ReferenceTargets) -> DisplayValue:
    field, value = excerpt.field, excerpt.value
    display = field.spec.display
    match display:
        case "text":
            return _text(text_of(value))
        case "markup":
            return _markup(text_of(value))
        case "number":
            # As written, because a number may be too large to convert.
            return DisplayValue(display, bytes(value).decode())
        case "flag":
            return DisplayValue(display, "Yes" if bytes(value) == b"true" else "No")
        case "date":
            # With the precision and the offset as written.
            if not field.range:
                return DisplayValue(display, parts=[_text(text_of(value))])
            ends = ends_of(value)
            return DisplayValue(display, parts=[_text(ends["from"]), _text(ends["to"])])
        case "choice":
            labels = {option.value: option.label for option in field.options}
            chosen = [labels.get(text, text) for text in texts_of(field, value)]
            return DisplayValue(display, parts=list(map(_text, chosen)))
        case "entries":
            entries = [(target, targets.entries.get(target)) for target in excerpt.targets("entry")]
            return DisplayValue(display, entries=entries)
        case "media":
            media = [(target, targets.media.get(target)) for target in excerpt.targets("media")]
            return DisplayValue(display, media=media)
        case "code":
            return _code(excerpt)
        case "table":
            return DisplayValue(
                display,
                elements=[
                    [(part.field, display_value(part, targets)) for part in element]
                    for element in excerpt.elements
                ],
            )
        case "none":
            raise AssertionError("a section has no values")


def _text(text: str) -> DisplayValue:
    return DisplayValue("text", text)


def _markup(text: str) -> DisplayValue:
    """The plain text; also the source if it has markup."""
    if not has_markup(text):
        return _text(text)
    return DisplayValue("markup", plain(text), parts=[_text(text)])


def has_markup(text: str) -> bool:
    return TAG.search(text) is not None


def plain(text: str) -> str:
    """One line for each block element. Deeply nested lists take quadratic time: 16 ms for 10 kB."""
    # Line ends of the source count as spaces, and a NUL would end the text.
    body = LexborHTMLParser(text.replace("\n", " ").replace("\x00", "")).body
    if body is None:
        return ""
    body.strip_tags(_HIDDEN)
    for block in body.css(_BLOCKS):
        block.insert_before("\n• " if block.tag == "li" else "\n")
        block.insert_after("\n")
    lines = body.text().split("\n")
    return "\n".join(kept for line in lines if (kept := " ".join(line.split())))


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


def _code(excerpt: Excerpt) -> DisplayValue:
    """Indented, unless deep nesting would multiply its size; a part is shown as stored."""
    raw = bytes(excerpt.value)
    text = msgspec.json.format(raw, indent=2) if excerpt.is_whole else raw
    return DisplayValue("code", readable((text if len(text) <= MAX_INDENTED else raw).decode()))
