"""The rows of a file, parsed: titles, slugs, and the value of each cell by itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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
from write_side.imports.table import Row, Table
from write_side.imports.xlsx.serials import iso_date_time

Names: TypeAlias = tuple[str, ...]
"""Entries or media files by id, slug or URL, not looked up yet."""
Value: TypeAlias = Raw | Names | BadCell | None
"""The value of a cell; None where it is blank, BadCell where it has none."""


class Cell(Struct, frozen=True):
    """``date``: the one that the text was read as, where the spreadsheet has a number."""

    column: Column
    field: Field
    text: str
    value: Value
    date: str | None = None

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
        what = "the published entry becomes a draft" if was_published else "the row becomes a draft"
        return [replace(note, reason=f"{note.reason}: {what}")]


def parsed_rows(table: Table, columns: Sequence[Column]) -> Iterator[ParsedRow]:
    """Every row of the table, in order. A column is mapped to Title."""
    return map(_RowParser(table, columns).parsed, table.rows)


class _RowParser:
    def __init__(self, table: Table, columns: Sequence[Column]) -> None:
        self._epoch = table.epoch
        self._texts = frozenset(table.texts)
        self._errors = {(error.row, error.column): error.reason for error in table.cell_errors}
        self._attributes: dict[Attribute, Column] = {}
        self._fields: list[tuple[Column, Field]] = []
        for column in columns:
            if isinstance(column.target, Field):
                self._fields.append((column, column.target))
            else:
                self._attributes[column.target] = column

    def parsed(self, row: Row) -> ParsedRow:
        cells = tuple(self._cell(row, column, field) for column, field in self._fields)
        has_status = "Status" in self._attributes
        return ParsedRow(
            number=row.number,
            title=self._text(row, "Title"),
            slug=self._slug(row),
            status=status_of(self._text(row, "Status")) if has_status else None,
            cells=cells,
            notes=(*self._notes(row), *_date_notes(cells)),
            no_status=self._no_status(row),
        )

    def _text(self, row: Row, name: Attribute) -> str:
        return row.cells[self._attributes[name].index] if name in self._attributes else ""

    def _error(self, row: Row, name: Attribute) -> str | None:
        """Why the spreadsheet has no value in this cell."""
        column = self._attributes.get(name)
        return self._errors.get((row.number, column.index)) if column else None

    def _slug(self, row: Row) -> str:
        given = self._text(row, "Slug")
        source: Attribute = "Slug" if given or self._error(row, "Slug") else "Title"
        slug = given or slug_from(self._text(row, "Title"))
        return "" if unstorable(slug) or self._error(row, source) else slug

    def _notes(self, row: Row) -> Iterator[Note]:
        for name, column in self._attributes.items():
            cell = row.cells[column.index]
            reason = self._error(row, name) or unstorable(cell)
            if reason:
                yield note_of(column, cell, reason)
            elif name == "Title" and not cell.strip():
                yield note_of(column, cell, "is blank")
            elif name != "Status" and cell and not cell.strip():
                yield note_of(column, cell, "contains only white space", "warning")

    def _no_status(self, row: Row) -> Note | None:
        column, cell = self._attributes.get("Status"), self._text(row, "Status")
        if column is None or self._error(row, "Status") or unstorable(cell):
            return None
        if cell.strip().casefold() in STATUSES:
            return None
        reason = "is not draft, published or archived" if cell.strip() else "is blank"
        return note_of(column, cell, reason, "warning")

    def _cell(self, row: Row, column: Column, field: Field) -> Cell:
        text, place = row.cells[column.index], (row.number, column.index)
        if place in self._errors:
            return Cell(column, field, text, BadCell(self._errors[place]))
        if is_blank(field, text):
            return Cell(column, field, text, None)
        date = None
        # A workbook's number means a date, for a field that takes dates.
        if self._epoch and place not in self._texts and field.spec.reads_serials:
            date = None if field.range else iso_date_time(text.strip(), self._epoch)
        try:
            return Cell(column, field, text, _value(field, date or text), date)
        except BadCell as error:
            # Without its traceback.
            return Cell(column, field, text, BadCell(str(error)))


def note_of(column: Column, cell: str, reason: str, severity: Severity = "error") -> Note:
    return Note(column.index, column.heading, severity, one_line(cell), reason)


def _date_notes(cells: Iterable[Cell]) -> Iterator[Note]:
    for cell in cells:
        if cell.date is not None:
            yield cell.note(f"is a number and is read as the date {cell.date}", "warning")


def _value(field: Field, text: str) -> Value:
    """Raises BadCell."""
    if not field.spec.refers_to:
        return value_of(field, text)
    names = tuple(names_in(field, text))
    for name in names:
        check_storable(name)
    return names


def status_of(cell: str) -> Status:
    """The status that the cell names, in upper or lower case; draft otherwise (§3)."""
    named = cell.strip().casefold()
    return next((status for status in STATUSES if status == named), "draft")
