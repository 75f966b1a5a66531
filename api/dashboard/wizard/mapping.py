"""How the columns of a file are mapped so far, as the page shows it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from msgspec import Struct

from api.dashboard.wizard.choices import Pairs
from write_side.domain.content_type import ContentType
from write_side.domain.definition import Field
from write_side.imports import uploads
from write_side.imports.columns import NOTHING, OWN, Offer
from write_side.imports.preview import shown
from write_side.imports.uploads import Upload

FIRST_ROWS = 5
FIRST_COLUMNS = 30


class Mapping(Struct):
    """What is chosen so far. ``sources``: why a target is proposed, "" where it is chosen."""

    type_slug: str
    language: str
    targets: Sequence[str]
    sources: Sequence[str] = ()
    update: bool = False
    save: bool = False
    problem: str = ""


class Column(Struct, frozen=True):
    """A column of the file. ``source``: why the target is proposed; ``error``: what is wrong."""

    letters: str
    heading: str
    samples: list[str]
    target: str
    source: str
    error: str


class Needed(Struct, frozen=True):
    """What some column must be mapped to."""

    name: str
    is_mapped: bool


async def columns(upload: Upload, mapping: Mapping, offered: Sequence[Offer]) -> list[Column]:
    headings = upload.table.headings
    samples = await asyncio.to_thread(uploads.samples, upload.table)
    errors = _errors(mapping.targets, offered)
    return [
        Column(
            letters=letters(index),
            heading=shown(headings[index]),
            samples=[shown(cell) for cell in samples[index]],
            target=target,
            source=mapping.sources[index] if mapping.sources else "",
            error=errors[index],
        )
        for index, target in enumerate(mapping.targets)
    ]


def _errors(targets: Sequence[str], offered: Sequence[Offer]) -> list[str]:
    """What is wrong with each column's choice, or ""."""
    known = {NOTHING, *(one.target for one in offered)}
    places: dict[str, list[int]] = {}
    for index, target in enumerate(targets):
        places.setdefault(target, []).append(index)

    def error(index: int, target: str) -> str:
        if target not in known:
            return "There is no such field"
        others = [one for one in places[target] if one != index]
        if target == NOTHING or not others:
            return ""
        return f"Chosen for column {letters(others[0])} too: choose one of the two"

    return [error(index, target) for index, target in enumerate(targets)]


def groups(offered: Sequence[Offer], content_type: ContentType) -> list[tuple[str, Pairs]]:
    """Options of each column's select, in groups."""
    kinds = {field.slug: field.spec.label_of(field) for field in content_type.value_fields}
    own = [(one.target, _called(one, "")) for one in offered if one.target in OWN]
    fields = [
        (one.target, _called(one, kinds[one.target])) for one in offered if one.target not in OWN
    ]
    return [("Of every entry", own), (f"Fields of {content_type.name}", fields)]


def _called(offer: Offer, kind: str) -> str:
    notes = ", ".join(note for note in (kind, "required" if offer.required else "") if note)
    return f"{offer.name} ({notes})" if notes else offer.name


def needed(offered: Sequence[Offer], mapping: Mapping) -> list[Needed]:
    return [Needed(one.name, one.target in mapping.targets) for one in offered if one.required]


def how_to_write(fields: Sequence[Field]) -> list[tuple[str, str]]:
    """Of the kinds of fields that there are, how their cells are written."""
    found = {field.spec.label_of(field): field.spec.cell_help for field in fields}
    return sorted(found.items())


def first_rows(upload: Upload) -> list[tuple[int, list[str]]]:
    rows = upload.table.rows[:FIRST_ROWS]
    return [(row.number, [shown(cell) for cell in row.cells[:FIRST_COLUMNS]]) for row in rows]


def cut_columns(upload: Upload) -> int:
    return max(0, len(upload.table.headings) - FIRST_COLUMNS)


def letters(index: int) -> str:
    """As a spreadsheet names its columns: A, Z, AA."""
    name = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        name = chr(ord("A") + rest) + name
    return name
