"""The rows of a file as drafts of entries: titles, slugs, and the value of each cell by itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec import Raw, Struct
from msgspec.structs import replace

from write_side.domain.cells import BadCell, check_storable, is_blank, names_in, value_of
from write_side.domain.definition import Field
from write_side.domain.events import STATUSES, Status
from write_side.domain.identity import slug_from
from write_side.domain.text import unstorable
from write_side.imports.columns import Attribute, Column
from write_side.imports.preview import Note, Severity, one_line
from write_side.imports.table import Epoch, Row, Table
from write_side.imports.xlsx.serials import iso_date_time

Names: TypeAlias = tuple[str, ...]
"""Entries or media files by id, slug or URL, not looked up yet."""
Value: TypeAlias = Raw | Names | BadCell | None
"""The value of a cell; None where it is blank, BadCell where it has none."""
Texts: TypeAlias = frozenset[tuple[int, int]]


class Cell(Struct, frozen=True):
    column: Column
    field: Field
    text: str
    value: Value

    def note(self, reason: str, severity: Severity = "error") -> Note:
        return note_of(self.column, self.text, reason, severity)


class ParsedRow(Struct, frozen=True):
    """A row of the file.

    ``slug`` is "" where the title or slug is wrong. ``status`` is None where no column is mapped to
    it; where the cell names no status it is "draft", and ``no_status`` says so. Errors in ``notes``
    are of the entry's own columns, warnings of any cell.
    """

    number: int
    title: str
    slug: str
    status: Status | None
    cells: tuple[Cell, ...]
    notes: tuple[Note, ...]
    no_status: Note | None = None

    def status_notes(self, *, was_published: bool) -> list[Note]:
        """A blank cell is a draft; that is noted only where it unpublishes an entry."""
        note = self.no_status
        if note is None or not (note.cell or was_published):
            return []
        what = "the published entry becomes a draft" if was_published else "it counts as draft"
        return [replace(note, reason=f"{note.reason}: {what}")]


def parsed_rows(table: Table, columns: Sequence[Column]) -> Iterator[ParsedRow]:
    """Every row of the table, in order."""
    cell_errors = {
        (cell_error.row, cell_error.column): cell_error.reason for cell_error in table.cell_errors
    }
    texts = frozenset(table.texts)
    own = {column.target: column for column in columns if not isinstance(column.target, Field)}
    for row in table.rows:
        faults = {
            column.index: cell_errors[row.number, column.index]
            for column in columns
            if cell_errors and (row.number, column.index) in cell_errors
        }
        cells = tuple(_cells(table, row, columns, faults, texts))
        yield ParsedRow(
            number=row.number,
            title=_own(row, own, "Title"),
            slug=_slug(row, own, faults),
            status=status_of(_own(row, own, "Status")) if "Status" in own else None,
            cells=cells,
            notes=(*_notes(row, own, faults), *_days(row, cells, table.epoch, texts)),
            no_status=_no_status(row, own, faults),
        )


def note_of(column: Column, cell: str, reason: str, severity: Severity = "error") -> Note:
    return Note(column.index, column.heading, severity, one_line(cell), reason)


def _own(row: Row, own: Mapping[Attribute, Column], name: Attribute) -> str:
    return row.cells[own[name].index] if name in own else ""


def _slug(row: Row, own: Mapping[Attribute, Column], faults: Mapping[int, str]) -> str:
    given = _own(row, own, "Slug")
    source: Attribute = (
        "Slug" if given or ("Slug" in own and own["Slug"].index in faults) else "Title"
    )
    slug = given or slug_from(_own(row, own, "Title"))
    return "" if unstorable(slug) or own[source].index in faults else slug


def _notes(row: Row, own: Mapping[Attribute, Column], faults: Mapping[int, str]) -> Iterator[Note]:
    for name, column in own.items():
        cell = row.cells[column.index]
        reason = faults.get(column.index) or unstorable(cell)
        if reason:
            yield note_of(column, cell, reason)
        elif name == "Title" and not cell.strip():
            yield note_of(column, cell, "is blank")
        elif name != "Status" and cell and not cell.strip():
            yield note_of(column, cell, "is nothing but white space", "warning")


def _no_status(row: Row, own: Mapping[Attribute, Column], faults: Mapping[int, str]) -> Note | None:
    cell = _own(row, own, "Status")
    if "Status" not in own or own["Status"].index in faults or unstorable(cell) or is_status(cell):
        return None
    reason = "is none of draft, published and archived" if cell.strip() else "is blank"
    return note_of(own["Status"], cell, reason, "warning")


def _days(row: Row, cells: Iterable[Cell], epoch: Epoch | None, texts: Texts) -> Iterator[Note]:
    """Warns of cells that the spreadsheet shows as numbers, and that are read as dates."""
    for cell in cells:
        if isinstance(cell.value, Raw) and (row.number, cell.column.index) not in texts:
            day = _day_of(cell.field, cell.text, epoch)
            if day is not None:
                yield cell.note(f"is a number, and is taken as the date {day}", "warning")


def _cells(
    table: Table,
    row: Row,
    columns: Iterable[Column],
    faults: Mapping[int, str],
    texts: Texts,
) -> Iterator[Cell]:
    for column in columns:
        if isinstance(column.target, Field):
            text = row.cells[column.index]
            fault = faults.get(column.index)
            epoch = None if (row.number, column.index) in texts else table.epoch
            value = BadCell(fault) if fault else _value(column.target, text, epoch)
            yield Cell(column, column.target, text, value)


def _value(field: Field, text: str, epoch: Epoch | None) -> Value:
    if is_blank(field, text):
        return None
    try:
        if not field.spec.refers_to:
            return value_of(field, _day_of(field, text, epoch) or text)
        names = tuple(names_in(field, text))
        for name in names:
            check_storable(name)
    except BadCell as error:
        return BadCell(str(error))  # without its traceback
    return names


def _day_of(field: Field, cell: str, epoch: Epoch | None) -> str | None:
    """The date that a workbook's number means, for a field that takes dates."""
    if epoch is None or field.range or not field.spec.reads_serials:
        return None
    return iso_date_time(cell.strip(), epoch)


def status_of(cell: str) -> Status:
    """The status that the cell names, in upper or lower case; draft otherwise (§3)."""
    named = cell.strip().casefold()
    return next((status for status in STATUSES if status == named), "draft")


def is_status(cell: str) -> bool:
    return cell.strip().casefold() in STATUSES
