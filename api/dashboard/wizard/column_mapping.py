"""What each column of the file becomes, as the page of the second step shows it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from msgspec import Struct
from xlsxwriter.utility import xl_col_to_name

from api.dashboard.wizard.form_choices import Options
from write_side.domain.content_type import ContentType
from write_side.domain.definition import Field
from write_side.imports import uploads
from write_side.imports.columns import NOTHING, OWN, Offer
from write_side.imports.preview import shown
from write_side.imports.uploads import Upload

SAMPLE_ROWS = 5
SAMPLE_COLUMNS = 30


class ColumnMapping(Struct):
    """The user's choices so far. ``sources``: why each target is proposed, "" if it was chosen."""

    type_slug: str
    language: str
    targets: Sequence[str]
    sources: Sequence[str] = ()
    update: bool = False
    save: bool = False


class ColumnView(Struct, frozen=True):
    """A column of the file. ``source``: why the target is proposed; ``error``: what is wrong."""

    letters: str
    heading: str
    samples: list[str]
    target: str
    source: str
    error: str


async def column_views(
    upload: Upload, mapping: ColumnMapping, offered: Sequence[Offer]
) -> list[ColumnView]:
    headings = upload.table.headings
    samples = await asyncio.to_thread(uploads.samples, upload.table)
    errors = _errors(mapping.targets, offered)
    return [
        ColumnView(
            letters=xl_col_to_name(index),
            heading=shown(headings[index]),
            samples=[shown(cell) for cell in samples[index]],
            target=target,
            source=mapping.sources[index] if mapping.sources else "",
            error=errors[index],
        )
        for index, target in enumerate(mapping.targets)
    ]


def _errors(targets: Sequence[str], offered: Sequence[Offer]) -> list[str]:
    """What is wrong with each column's target, or ""."""
    known = {NOTHING, *(one.target for one in offered)}
    columns: dict[str, list[int]] = {}
    for index, target in enumerate(targets):
        columns.setdefault(target, []).append(index)

    def error(index: int, target: str) -> str:
        if target not in known:
            return f"Field '{shown(target)}' does not exist"
        others = [one for one in columns[target] if one != index]
        if target == NOTHING or not others:
            return ""
        return f"Also chosen for column {xl_col_to_name(others[0])}: choose one of the two"

    return [error(index, target) for index, target in enumerate(targets)]


def target_groups(offered: Sequence[Offer], content_type: ContentType) -> list[tuple[str, Options]]:
    """Options of each column's select, by group."""
    kinds = {field.slug: field.spec.label_of(field) for field in content_type.value_fields}
    options = [(one.target, _option(one, kinds.get(one.target, ""))) for one in offered]
    return [
        ("Of every entry", [one for one in options if one[0] in OWN]),
        (f"Fields of {content_type.name}", [one for one in options if one[0] not in OWN]),
    ]


def _option(offer: Offer, kind: str) -> str:
    notes = ", ".join(note for note in (kind, "required" if offer.required else "") if note)
    return f"{offer.name} ({notes})" if notes else offer.name


def required_targets(offered: Sequence[Offer], mapping: ColumnMapping) -> list[tuple[str, bool]]:
    """The names of required targets, and whether a column is mapped to each."""
    return [(one.name, one.target in mapping.targets) for one in offered if one.required]


def how_to_write(fields: Sequence[Field]) -> list[tuple[str, str]]:
    """How to write cells, for the kinds of fields that the content type has."""
    found = {field.spec.label_of(field): field.spec.cell_help for field in fields}
    return sorted(found.items())


def sample_rows(upload: Upload) -> list[tuple[int, list[str]]]:
    rows = upload.table.rows[:SAMPLE_ROWS]
    return [(row.number, [shown(cell) for cell in row.cells[:SAMPLE_COLUMNS]]) for row in rows]


def hidden_columns(upload: Upload) -> int:
    """How many columns the sample rows leave out."""
    return max(0, len(upload.table.headings) - SAMPLE_COLUMNS)
