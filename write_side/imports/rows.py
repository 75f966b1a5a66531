"""The rows of a file, parsed: titles, slugs, and the value of each cell on its own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from msgspec import Raw, Struct
from msgspec.structs import replace

from write_side.domain.cells import (
    BadCell,
    check_storable,
    is_blank,
    names_in,
    split_range,
    value_of,
)
from write_side.domain.definition import Field
from write_side.domain.events import STATUSES, Status
from write_side.domain.identity import slug_from, unusable_slug
from write_side.domain.locales import supported_locales
from write_side.domain.refusals import first_few, shortened
from write_side.domain.text import unstorable
from write_side.domain.values import is_null, unknown_members
from write_side.imports.columns import Attribute, Column
from write_side.imports.preview import Note, Severity, one_line
from write_side.imports.request import EntryKey, ImportRequest
from write_side.imports.table import Row, Table
from write_side.imports.xlsx.serials import iso_date_time, reads_like_a_serial

Names: TypeAlias = tuple[str, ...]
"""Entries or media files by id, slug or URL, not looked up yet."""
Value: TypeAlias = Raw | Names | BadCell | None
"""The value of a cell; None if it is blank, BadCell if it is not valid."""
_DECIMAL_COMMA = re.compile(
    r"([+-]?)(\d{1,3}(?:([. \u00a0\u2009\u202f'’])\d{3}(?:\3\d{3})*)?|\d++)?(?:,(\d++))?"
    r"([eE][+-]?\d++)?",
    re.ASCII,
)
_DAY_FIRST = re.compile(r"(\d{1,2})([./-])(\d{1,2})\2(\d{4})(?:[ T](\d{1,2}:\d{2}.*))?", re.ASCII)

_ADVICE = {
    "decimal_comma": "; choose a decimal comma to read it",
    "day_first": "; choose day-first dates to read it",
}
"""The end of an error's text, by the choice with which the cell could be read."""


class Cell(Struct, frozen=True, gc=False):
    """``date``: the date as which a number of the spreadsheet was read. A file has up to a
    million cells; the garbage collector would traverse them repeatedly, for a fifth of a second."""

    column: Column
    field: Field
    text: str
    value: Value
    date: str | None = None

    def note(self, reason: str, severity: Severity = "error") -> Note:
        return note_of(self.column, self.text, reason, severity)


class ParsedRow(Struct, frozen=True):
    """A row of the file.

    ``slug`` is "" if the title, slug or language is not valid. ``status`` is None if no column is
    mapped to it; if the cell has no status, it is the request's and ``no_status`` is set.
    ``notes`` are about the entry's own columns, or warnings from reading the file. ``bad_slug`` is
    set if the row gives a slug that no new entry can have. ``repeats``: the number of the row that
    has the slug which this row would have without its suffix.
    """

    number: int
    title: str
    slug: str
    language: str
    status: Status | None
    cells: tuple[Cell, ...]
    notes: tuple[Note, ...]
    no_status: Note | None = None
    bad_slug: Note | None = None
    is_slug_derived: bool = False
    repeats: int | None = None

    @property
    def content(self) -> tuple[str, ...]:
        """The content of a row, equal for rows that repeat each other."""
        return (self.title, *self.key, self.status or "", *(cell.text for cell in self.cells))

    @property
    def parts(self) -> int:
        """See ``Row.parts``."""
        return sum(cell.text.count(",") for cell in self.cells)

    @property
    def key(self) -> EntryKey:
        return self.language, self.slug

    def status_notes(self, *, was_published: bool) -> list[Note]:
        """A blank cell has the status of the request; that is noted only if it unpublishes an
        entry."""
        note = self.no_status
        if note is None or not (note.cell or was_published):
            return []
        if was_published and self.status == "published":
            return []
        becomes = {"draft": "a draft"}.get(self.status or "", self.status)
        what = f"the {'published entry' if was_published else 'row'} becomes {becomes}"
        return [replace(note, reason=f"{note.reason}: {what}")]


def parsed_rows(
    table: Table, columns: Sequence[Column], request: ImportRequest
) -> Iterator[ParsedRow]:
    """Every row of the table, in order. A column is mapped to Title."""
    return map(_RowParser(table, columns, request).parsed, table.rows)


class _RowParser:
    def __init__(self, table: Table, columns: Sequence[Column], request: ImportRequest) -> None:
        self._request = request
        self._headings = table.headings
        self._epoch = table.epoch
        self._texts = frozenset(table.texts)
        self._errors = {(error.row, error.column): error.reason for error in table.cell_errors}
        self._warnings: dict[tuple[int, int | None], list[str]] = {}
        for each in table.warnings:
            self._warnings.setdefault((each.row, each.column), []).append(each.reason)
        self._columns = columns
        self._attributes: dict[Attribute, Column] = {}
        self._fields: list[tuple[Column, Field]] = []
        self._bad_cells: dict[str, BadCell] = {}
        for column in columns:
            if isinstance(column.target, Field):
                self._fields.append((column, column.target))
            else:
                self._attributes[column.target] = column

    def parsed(self, row: Row) -> ParsedRow:
        cells = tuple(self._cell(row, column, field) for column, field in self._fields)
        status = status_of(self._text(row, "Status"), self._request.status)
        return ParsedRow(
            number=row.number,
            title=self._text(row, "Title"),
            slug=self._slug(row),
            language=self._text(row, "Language").strip() or self._request.language,
            status=status if "Status" in self._attributes else None,
            cells=cells,
            notes=(
                *self._notes(row),
                *self._key_notes(row),
                *self._file_notes(row),
                *_unknown_members(cells),
            ),
            no_status=self._no_status(row),
            bad_slug=self._bad_slug(row),
            is_slug_derived=not self._text(row, "Slug"),
        )

    def _text(self, row: Row, name: Attribute) -> str:
        return row.cells[self._attributes[name].index] if name in self._attributes else ""

    def _error(self, row: Row, name: Attribute) -> str | None:
        """The reason why the spreadsheet has no value in this cell."""
        column = self._attributes.get(name)
        return self._errors.get((row.number, column.index)) if column else None

    def _slug(self, row: Row) -> str:
        given = self._text(row, "Slug")
        key = self._request.key
        source = self._attributes["Title"].index if key is None else key
        if given or self._error(row, "Slug"):
            source = self._attributes["Slug"].index
        slug = given or slug_from(row.cells[source])
        is_wrong = unstorable(slug) or (row.number, source) in self._errors
        return "" if is_wrong or self._language_error(row) else slug

    def _key_notes(self, row: Row) -> Iterator[Note]:
        key = self._request.key
        if key is not None and not self._text(row, "Slug") and not row.cells[key].strip():
            heading = one_line(self._headings[key])
            yield Note(key, heading, "error", "", "is blank, and slugs are derived from it")

    def _language_error(self, row: Row) -> str | None:
        language = self._text(row, "Language").strip()
        if (error := self._error(row, "Language")) or not language:
            return error
        if language in supported_locales():
            return None
        return "is not a supported language: use a code like en-US or fr-FR"

    def _notes(self, row: Row) -> Iterator[Note]:
        for name, column in self._attributes.items():
            cell = row.cells[column.index]
            reason = self._error(row, name) or unstorable(cell)
            if name == "Language":
                reason = self._language_error(row)
            if reason:
                yield note_of(column, cell, reason)
            elif name == "Title" and not cell.strip():
                yield note_of(column, cell, "is blank")
            elif name in ("Title", "Slug") and cell and not cell.strip():
                yield note_of(column, cell, "contains only white space", "warning")
            elif name in ("Title", "Slug") and cell != cell.strip():
                reason = (
                    "begins or ends with white space, which is kept: delete it if it is not meant"
                )
                yield note_of(column, cell, reason, "warning")

    def _file_notes(self, row: Row) -> Iterator[Note]:
        """Warnings from reading the file."""
        for reason in self._warnings.get((row.number, None), ()):
            yield Note(None, "", "warning", "", reason)
        for column in self._columns if self._warnings else ():
            for reason in self._warnings.get((row.number, column.index), ()):
                yield note_of(column, row.cells[column.index], reason, "warning")

    def _no_status(self, row: Row) -> Note | None:
        column, cell = self._attributes.get("Status"), self._text(row, "Status")
        if column is None or self._error(row, "Status") or unstorable(cell):
            return None
        if cell.strip().casefold() in STATUSES:
            return None
        reason = "is not draft, published or archived" if cell.strip() else "is blank"
        return note_of(column, cell, reason, "warning")

    def _bad_slug(self, row: Row) -> Note | None:
        column, cell = self._attributes.get("Slug"), self._text(row, "Slug")
        reason = unusable_slug(cell)
        return note_of(column, cell, reason) if column and reason else None

    def _cell(self, row: Row, column: Column, field: Field) -> Cell:
        text, place = row.cells[column.index], (row.number, column.index)
        if place in self._errors:
            return Cell(column, field, text, self._bad(self._errors[place]))
        if is_blank(field, text):
            return Cell(column, field, text, None)
        date = None
        # In a field that takes dates, a workbook's number is a date.
        if self._epoch and place not in self._texts and field.spec.reads_serials:
            date = None if field.range else iso_date_time(text.strip(), self._epoch)
        # The notation does not apply to numbers of a workbook.
        is_number = self._epoch and place not in self._texts and reads_like_a_serial(text)
        try:
            readable = text if is_number else _in_notation(field, text, self._request)
            return Cell(column, field, text, _value(field, date or readable), date)
        except BadCell as error:
            bad = self._bad(f"{error}{self._advice(field, text)}")
            return Cell(column, field, text, bad)

    def _bad(self, reason: str) -> BadCell:
        """One without a traceback, the same for all cells: a file may have a million."""
        return self._bad_cells.setdefault(reason, BadCell(reason))

    def _advice(self, field: Field, text: str) -> str:
        """The choice with which the cell could be read; "" if there is none."""
        for choice, advice in _ADVICE.items():
            try:
                _value(field, _in_notation(field, text, replace(self._request, **{choice: True})))
            except BadCell:
                continue
            return advice
        return ""


def note_of(column: Column, cell: str, reason: str, severity: Severity = "error") -> Note:
    """A note shows white space at the ends of the cell, because some notes are about it."""
    shown = one_line(cell)
    if shown:
        shown = f"{' ' * cell[0].isspace()}{shown}{' ' * cell[-1].isspace()}"
    return Note(column.index, column.heading, severity, shown, reason)


def date_notes(cells: Iterable[Cell]) -> Iterator[Note]:
    for cell in cells:
        if cell.date is not None:
            yield cell.note(f"is a number and is read as the date {cell.date}", "warning")


def _unknown_members(cells: Iterable[Cell]) -> Iterator[Note]:
    """Warnings for members that no field of the repeater has: they are ignored, as in a request
    (§4.4)."""
    for cell in cells:
        field = cell.field
        if not (field.spec.is_nested and isinstance(cell.value, Raw)) or is_null(cell.value):
            continue
        paths = unknown_members([field], {field.slug: field.spec.read_cell(field, cell.text)})
        unknown = list(dict.fromkeys(".".join(path[1:]) for path in paths))
        if unknown:
            named = first_few(unknown, lambda name: repr(shortened(name)))
            known = ", ".join(inner.slug for inner in field.fields if inner.spec.holds_values)
            reason = f"has unknown members, which are not imported: {named}; known are: {known}"
            yield cell.note(reason, "warning")


def _value(field: Field, text: str) -> Value:
    """Raises BadCell."""
    if not field.spec.refers_to:
        return value_of(field, text)
    names = tuple(names_in(field, text))
    for name in names:
        check_storable(name)
    return names


def status_of(cell: str, otherwise: Status = "draft") -> Status:
    """The status in the cell, regardless of case; otherwise draft (§3), or the status that was
    chosen."""
    named = cell.strip().casefold()
    return next((status for status in STATUSES if status == named), otherwise)


def _in_notation(field: Field, text: str, request: ImportRequest) -> str:
    """The text of a cell as its field would read it without the choices. Raises BadCell."""
    if request.decimal_comma and field.spec.display == "number":
        return _with_decimal_point(text.strip())
    if request.day_first and field.spec.reads_serials:
        if field.range:
            return " / ".join(map(_year_first, split_range(text)))
        return _year_first(text)
    return text


def _with_decimal_point(text: str) -> str:
    match = _DECIMAL_COMMA.fullmatch(text)
    if match is None or not (match[2] or match[4]):
        raise BadCell("takes a number with a decimal comma, such as 1234,5 or 1.234,5")
    whole = re.sub(r"\D", "", match[2] or "0")
    fraction = f".{match[4]}" if match[4] else ""
    return f"{match[1]}{whole}{fraction}{match[5] or ''}"


def _year_first(text: str) -> str:
    """A text in any other form is unchanged: ISO 8601 dates begin with the year."""
    match = _DAY_FIRST.fullmatch(text.strip())
    if match is None:
        return text
    day, _, month, year, time = match.groups()
    date = f"{year}-{month:0>2}-{day:0>2}"
    return f"{date}T{time.zfill(len(time) + (time[1] == ':'))}" if time else date
