"""The cells of a worksheet, and the shared strings they refer to, read as a stream.

openpyxl's own reader loses what an import needs (ADR 20): formulas without a value, the offset of
a time, escapes in texts, rows out of order.
"""

from __future__ import annotations

from xml.sax.handler import ContentHandler
from xml.sax.xmlreader import AttributesImpl

from msgspec.structs import replace
from openpyxl.utils.cell import coordinate_to_tuple

from write_side.imports.escapes import unescaped
from write_side.imports.table import (
    TOO_MUCH_TEXT,
    CellError,
    Epoch,
    FileRefused,
    Limits,
    column_letters,
    too_far,
)
from write_side.imports.xlsx.archive import REPAIR
from write_side.imports.xlsx.number_formats import Kind, number_text
from write_side.imports.xlsx.serials import reads_like_a_serial

Cell = str | int
"""A text, or the index of a shared string."""
Rows = dict[int, dict[int, Cell]]
"""Cells that are not blank, by row number and column index."""

_ROWS, _COLUMNS = 1_048_576, 16_384
"""The size of a worksheet."""
_TEXTS = frozenset("vft")
"""Elements that hold text: value, formula, and a run of a string."""
_NO_VALUE = "has a formula without a saved value: open and save the file in a spreadsheet program"


class _TextHandler(ContentHandler):
    """Collects the text of elements. Phonetic readings of East Asian texts are ignored.

    Elements are recognized by their local names, because resolving namespaces takes twice the time.
    """

    def __init__(self, limits: Limits) -> None:
        super().__init__()
        self._room = limits.text_bytes
        self._characters: list[str] = []
        self._in_phonetic = False

    def startElement(self, name: str, attributes: AttributesImpl) -> None:  # noqa: N802
        tag = name.rpartition(":")[2]
        if tag in _TEXTS:
            self._characters = []
        elif tag == "rPh":
            self._in_phonetic = True
        else:
            self.start(tag, attributes)

    def endElement(self, name: str) -> None:  # noqa: N802
        tag = name.rpartition(":")[2]
        if tag == "rPh":
            self._in_phonetic = False
        elif not self._in_phonetic:
            self.end(tag, "".join(self._characters) if tag in _TEXTS else "")

    def characters(self, content: str) -> None:
        self._characters.append(content)

    def start(self, tag: str, attributes: AttributesImpl) -> None:
        """At the start of an element that holds no text."""

    def end(self, tag: str, text: str) -> None:
        """At the end of an element, with the text of one that holds text."""

    def bounded(self, text: str) -> str:
        self._room -= len(text)
        if self._room < 0:
            raise FileRefused(TOO_MUCH_TEXT)
        return text


class SheetHandler(_TextHandler):
    """Fills ``rows``, ``merged`` with ranges such as A2:A5, and ``hidden_rows`` with numbers.
    ``texts`` and ``cell_errors`` are those of a Table."""

    def __init__(self, kinds: list[Kind | None], epoch: Epoch, limits: Limits) -> None:
        super().__init__(limits)
        self.rows: Rows = {}
        self.merged: list[str] = []
        self.texts: list[tuple[int, int]] = []
        self.cell_errors: list[CellError] = []
        self.hidden_rows: set[int] = set()
        self._kinds, self._epoch, self._limits = kinds, epoch, limits
        self._cells_left = limits.cells
        self._in_data = False
        self._number = self._column = 0
        self._row: dict[int, Cell] = {}
        self._attributes = AttributesImpl({})
        self._value: str | None = None
        self._formula: str | None = None
        self._inline: list[str] | None = None

    @property
    def limits_left(self) -> Limits:
        """The limits that are left for another sheet of the same file."""
        return replace(self._limits, cells=self._cells_left, text_bytes=self._room)

    def start(self, tag: str, attributes: AttributesImpl) -> None:
        if tag == "sheetData":
            self._in_data = True
        elif tag == "mergeCell":
            self.merged.append(self.bounded(attributes.get("ref", "")))
        elif not self._in_data:
            return
        elif tag == "row":
            self._start_row(attributes.get("r"))
            if attributes.get("hidden") in ("1", "true"):
                self.hidden_rows.add(self._number)
        elif tag == "c":
            self._start_cell(attributes)
        elif tag == "is":
            self._inline = []

    def end(self, tag: str, text: str) -> None:
        match tag:
            case "v":
                self._value = text
            case "f":
                self._formula = text
            case "t" if self._inline is not None:
                self._inline.append(text)
            case "c" if self._in_data:
                cell = self._checked_cell()
                if cell != "":
                    self._row[self._column - 1] = cell
            case "row" if self._in_data:
                self._end_row()
            case "sheetData":
                self._in_data = False

    def _start_row(self, number: str | None) -> None:
        above = self._number
        self._number = above + 1 if number is None else _whole(number)
        if not above < self._number <= _ROWS:
            raise ValueError("rows are out of order")
        self._row, self._column = {}, 0

    def _end_row(self) -> None:
        limits = self._limits
        if not self._row:
            return
        if self._number > limits.row_number:
            raise FileRefused(too_far(self._number, limits))
        if max(self._row) >= limits.columns:
            raise FileRefused(
                f"has cells in column {column_letters(max(self._row))}: at most"
                f" {limits.columns} columns are imported"
            )
        self.rows[self._number] = self._row

    def _start_cell(self, attributes: AttributesImpl) -> None:
        self._cells_left -= 1
        if self._cells_left < 0:
            raise FileRefused("has too many cells, blank ones included: delete empty rows below it")
        left, place = self._column, attributes.get("r")
        row, self._column = coordinate_to_tuple(place) if place else (self._number, left + 1)
        if row != self._number or not left < self._column <= _COLUMNS:
            raise ValueError("cells are out of order")
        self._attributes = attributes
        self._value = self._formula = self._inline = None

    def _checked_cell(self) -> Cell:
        """Raises FileRefused with the place of a cell that cannot be read."""
        try:
            return self._cell()
        except ValueError:
            place = f"{column_letters(self._column - 1)}{self._number}"
            stored = (self._value or "")[:20]
            raise FileRefused(
                f"is damaged: cell {place} holds {stored!r}, which is not a value of its type;"
                f" {REPAIR}"
            ) from None

    def _cell(self) -> Cell:
        kind = self._attributes.get("t", "n")
        if self._inline is not None:
            return self._text(unescaped("".join(self._inline)))
        if not self._value:
            # A formula whose value is an empty text has an empty v.
            if self._formula is None or (kind == "str" and self._value is not None):
                return ""
            return self._cell_error(f"={self._formula}", _NO_VALUE)
        match kind:
            case "n":
                return number_text(self._value, self._number_kind(), self._epoch)
            case "s":
                return int(self._value)
            case "b":
                word = self._value.lower()
                return word if word in ("true", "false") else "true" if int(word) else "false"
            case "e":
                error = f"has the error {self._value[:20]}: correct its formula or clear the cell"
                return self._cell_error(self._value, error)
        return self._text(unescaped(self._value))

    def _text(self, text: str) -> str:
        if reads_like_a_serial(text):
            self.texts.append((self._number, self._column - 1))
        return self.bounded(text)

    def _cell_error(self, text: str, reason: str) -> str:
        self.cell_errors.append(CellError(self._number, self._column - 1, reason))
        return self.bounded(text)

    def _number_kind(self) -> Kind | None:
        style = int(self._attributes.get("s", "0"))
        return self._kinds[style] if 0 <= style < len(self._kinds) else None


def _whole(number: str) -> int:
    """Some programs write row numbers as 4.0."""
    if not float(number).is_integer():
        raise ValueError("is not a row number")
    return int(float(number))


class StringsHandler(_TextHandler):
    """Fills ``found`` with the shared strings at the given indexes, because a workbook may have
    many more."""

    def __init__(self, indexes: set[int], limits: Limits) -> None:
        super().__init__(limits)
        self.found: dict[int, str] = {}
        self._indexes = indexes
        self._runs: list[str] = []
        self._index = 0

    def end(self, tag: str, text: str) -> None:
        if tag == "t":
            self._runs.append(text)
        elif tag == "si":
            if self._index in self._indexes:
                self.found[self._index] = self.bounded(unescaped("".join(self._runs)))
            self._runs = []
            self._index += 1
