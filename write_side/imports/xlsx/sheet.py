"""The cells of a worksheet, as text or as the index of a shared string."""

from __future__ import annotations

import re
from collections.abc import Iterable

from write_side.imports.files import Epoch, FileRefused, Limits, Trouble
from write_side.imports.tabulating import letters, too_far
from write_side.imports.xlsx.archive import DAMAGED
from write_side.imports.xlsx.formats import Kind
from write_side.imports.xlsx.markup import parse
from write_side.imports.xlsx.strings import ESCAPE_WIDTH
from write_side.imports.xlsx.values import INDEX, Cell, cell_of

_CELL = re.compile("([A-Z]{1,3})([1-9][0-9]{0,6})")
_ROWS, _COLUMNS = 1_048_576, 16_384
"""Of any worksheet."""
_BLANK_ROWS = 5
"""Times as many rows as are imported may turn out to be blank when their strings are known."""


class SheetReader:
    """Handed to ``parse``; then ``rows`` has the rows with cells, by number and column."""

    def __init__(self, kinds: list[Kind | None], epoch: Epoch, limits: Limits) -> None:
        self.rows: dict[int, dict[int, Cell]] = {}
        self.troubles: list[Trouble] = []
        self._kinds, self._epoch, self._limits = kinds, epoch, limits
        self._number, self._column = 0, -1
        self._row: dict[int, Cell] | None = None
        self._type: str | None = None
        self._style = ""
        self._element = ""
        self._in_reading = False
        self._pieces: dict[str, list[str]] = {}
        self._length = 0
        self._not_blank = self._cells = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        match name:
            case "row":
                self._start_row(attributes.get("r"))
            case "c" if self._row is not None:
                self._start_cell(attributes)
            case "v" | "f" | "t" if self._type is not None and not self._in_reading:
                self._element = name
                self._pieces.setdefault(name, [])
            case "rPh":
                self._in_reading = True
            case "dimension":
                self._check_dimension(attributes.get("ref", ""))

    def text(self, text: str) -> None:
        if self._element in self._pieces:
            self._pieces[self._element].append(text)
            self._length += len(text)
            if self._length > 2 * ESCAPE_WIDTH * self._limits.workbook_cell_characters:
                raise FileRefused(
                    f"has more text in cell {letters(self._column)}{self._number}"
                    " than a spreadsheet holds: shorten it"
                )

    def end(self, name: str) -> None:
        match name:
            case "c" if self._type is not None:
                self._end_cell(self._type)
            case "row" if self._row is not None:
                self._end_row(self._row)
            case "v" | "f" | "t":
                self._element = ""
            case "rPh":
                self._in_reading = False

    def _start_row(self, written: str | None) -> None:
        number = self._number + 1
        if written is not None:
            if not INDEX.fullmatch(written) or int(written) < number:
                raise FileRefused(DAMAGED)
            number = int(written)
        if number > _ROWS:
            raise FileRefused(DAMAGED)
        self._number, self._column, self._row = number, -1, {}

    def _end_row(self, row: dict[int, Cell]) -> None:
        self._row = None
        if not row:
            return
        limits = self._limits
        if self._number > limits.row_number:
            raise FileRefused(too_far(self._number, limits))
        self.rows[self._number] = row
        self._not_blank += any(isinstance(cell, str) and cell.strip() for cell in row.values())
        # The headings are a row too.
        if self._not_blank > limits.rows + 1 or len(self.rows) > _BLANK_ROWS * limits.rows:
            raise FileRefused(f"has more than {limits.rows:,} rows: split it into several files")

    def _start_cell(self, attributes: dict[str, str]) -> None:
        column = self._column + 1
        written = attributes.get("r")
        if written is not None:
            match = _CELL.fullmatch(written)
            if match is None or int(match[2]) != self._number or _index(match[1]) < column:
                raise FileRefused(DAMAGED)
            column = _index(match[1])
        self._cells += 1
        if column >= _COLUMNS:
            raise FileRefused(DAMAGED)
        if self._cells > self._limits.cells:
            raise FileRefused("has too many cells, blank ones included: delete empty rows below it")
        self._column = column
        self._type, self._style = attributes.get("t", "n"), attributes.get("s", "0")
        self._pieces, self._length, self._element = {}, 0, ""

    def _end_cell(self, cell_type: str) -> None:
        assert self._row is not None
        self._type = None
        found = {name: "".join(pieces) for name, pieces in self._pieces.items()}
        cell, trouble = cell_of(cell_type, found, self._kind(), self._epoch)
        if cell == "":
            return
        if trouble is not None:
            self.troubles.append(Trouble(self._number, self._column, trouble))
        if self._column >= self._limits.columns:
            raise FileRefused(
                f"has something in column {letters(self._column)}: at most"
                f" {self._limits.columns} columns are imported"
            )
        self._row[self._column] = cell

    def _kind(self) -> Kind | None:
        if not INDEX.fullmatch(self._style):
            raise FileRefused(DAMAGED)
        style = int(self._style)
        return self._kinds[style] if style < len(self._kinds) else None

    def _check_dimension(self, ref: str) -> None:
        last = _CELL.fullmatch(ref.rpartition(":")[2])
        if last is not None and int(last[2]) > self._limits.row_number:
            raise FileRefused(too_far(int(last[2]), self._limits))


def read_sheet(
    chunks: Iterable[bytes], kinds: list[Kind | None], epoch: Epoch, limits: Limits
) -> SheetReader:
    """Raises FileRefused."""
    reader = SheetReader(kinds, epoch, limits)
    parse(chunks, reader)
    return reader


def _index(name: str) -> int:
    index = 0
    for letter in name:
        index = index * 26 + ord(letter) - ord("A") + 1
    return index - 1
