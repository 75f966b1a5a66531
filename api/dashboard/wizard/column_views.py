"""What the columns page shows: the columns of the file, and the targets to choose from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from api.dashboard.wizard.wizard_steps import SelectOptions
from write_side.domain.content_type import ContentType
from write_side.domain.definition import Field
from write_side.imports.columns import ATTRIBUTES, NOTHING, ColumnTarget, namesakes
from write_side.imports.preview import one_line
from write_side.imports.table import Table, column_letters
from write_side.imports.uploads import samples

SAMPLE_ROWS = 5
SAMPLE_COLUMNS = 30


class ColumnView(Struct, frozen=True):
    """A column of the file. ``source``: why the target is proposed; ``error``: what is wrong.
    ``namesake``: the field with its name, if exports have a column of this name that is not
    imported; otherwise ""."""

    letters: str
    heading: str
    samples: list[str]
    target: str
    source: str
    error: str
    namesake: str


def column_views(
    table: Table,
    targets: Sequence[str],
    sources: Sequence[str],
    offered: Iterable[ColumnTarget],
    fields: Sequence[Field],
) -> list[ColumnView]:
    """Call this in a thread: a file may have a million cells."""
    headings, examples = table.headings, samples(table)
    errors = _errors(targets, offered)
    same_name = dict(namesakes(headings, targets, fields))
    return [
        ColumnView(
            letters=column_letters(index),
            heading=one_line(headings[index]),
            samples=[one_line(cell) for cell in examples[index]],
            target=target,
            source=sources[index] if sources else "",
            error=errors[index],
            namesake=same_name[index].name if index in same_name else "",
        )
        for index, target in enumerate(targets)
    ]


def _errors(targets: Sequence[str], offered: Iterable[ColumnTarget]) -> list[str]:
    """The error of each column's target, or ""."""
    known = {target.target for target in offered}
    columns: dict[str, list[int]] = {}
    for index, target in enumerate(targets):
        columns.setdefault(target, []).append(index)

    def error(index: int, target: str) -> str:
        if target == NOTHING:
            return ""
        if target not in known:
            return f"Field '{one_line(target)}' does not exist"
        # A file may have hundreds of columns.
        others = [column_letters(other) for other in columns[target][:2] if other != index]
        return f"Also chosen for column {others[0]}: choose one of the two" if others else ""

    return [error(index, target) for index, target in enumerate(targets)]


def target_groups(
    offered: Sequence[ColumnTarget], content_type: ContentType
) -> list[tuple[str, SelectOptions]]:
    """Options of each column's select, by group."""
    kinds = {field.slug: field.spec.label_of(field) for field in content_type.value_fields}
    options = [(target.target, _option(target, kinds.get(target.target, ""))) for target in offered]
    return [
        ("Of every entry", [one for one in options if one[0] in ATTRIBUTES]),
        (f"Fields of {content_type.name}", [one for one in options if one[0] not in ATTRIBUTES]),
    ]


def _option(target: ColumnTarget, kind: str) -> str:
    notes = ", ".join(note for note in (kind, "required" if target.required else "") if note)
    return f"{target.name} ({notes})" if notes else target.name


def how_to_write(fields: Sequence[Field]) -> list[tuple[str, str]]:
    """How to write cells, for the types of fields that the content type has."""
    found = {field.spec.label_of(field): field.spec.cell_help_of(field) for field in fields}
    return sorted(found.items())


def sample_rows(table: Table) -> list[tuple[int, list[str]]]:
    rows = table.rows[:SAMPLE_ROWS]
    return [(row.number, [one_line(cell) for cell in row.cells[:SAMPLE_COLUMNS]]) for row in rows]
