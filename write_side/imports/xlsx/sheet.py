"""The cells of a worksheet, as text or as the index of a shared string."""

from __future__ import annotations

import io
from typing import Any
from xml.etree.ElementTree import Element

from openpyxl.worksheet._reader import (
    FORMULA_TAG,
    INLINE_STRING,
    ROW_TAG,
    VALUE_TAG,
    WorkSheetParser,
)

from write_side.imports.files import Epoch, FileRefused, Limits, Trouble
from write_side.imports.tabulating import letters, too_far
from write_side.imports.xlsx.archive import Archive
from write_side.imports.xlsx.formats import Kind
from write_side.imports.xlsx.numerals import number_text
from write_side.imports.xlsx.serials import reads_like_a_serial
from write_side.imports.xlsx.strings import text_of
from write_side.imports.xstring import unescaped

Cell = str | int
"""A text, or the index of a shared string."""
Rows = dict[int, dict[int, Cell]]
"""Cells that are not blank, by number and column."""

_ROWS, _COLUMNS = 1_048_576, 16_384
"""Of any worksheet."""
_BLANK_ROWS = 5
"""Times as many rows as are imported may turn out to be blank when their strings are known."""
_NO_VALUE = "holds a formula without a value: save the file in a spreadsheet"


class SheetReader(WorkSheetParser):
    def __init__(self, kinds: list[Kind | None], epoch: Epoch, limits: Limits) -> None:
        # Shared strings are read later, those of this sheet alone: till then, each is its index.
        indexes: Any = range(2**31)
        super().__init__(io.BytesIO(), indexes, data_only=True)
        self.rows: Rows = {}
        self.texts: list[tuple[int, int]] = []
        self.troubles: list[Trouble] = []
        self._kinds, self._days_since, self._limits = kinds, epoch, limits
        self._cells, self._room = limits.cells, limits.text_bytes

    def read(self, archive: Archive, part: str) -> None:
        """Raises FileRefused, and whatever openpyxl does with what is no sheet.

        Not by openpyxl's own ``parse``, which keeps all that a sheet has, and reads its formats,
        filters and links.
        """
        archive.elements(part, frozenset([ROW_TAG]), self._take)

    def _take(self, element: Element) -> None:
        above, limits = self.row_counter, self._limits
        number, cells = self.parse_row(element)  # type: ignore[arg-type]
        self.row_dimensions.clear()
        if not above < number <= _ROWS:
            raise ValueError("rows are out of order")
        row = {cell["column"] - 1: cell["value"] for cell in cells if cell["value"] != ""}
        if not row:
            return
        if number > limits.row_number:
            raise FileRefused(too_far(number, limits))
        if max(row) >= limits.columns:
            raise FileRefused(
                f"has something in column {letters(max(row))}: at most"
                f" {limits.columns} columns are imported"
            )
        self.rows[number] = row
        if len(self.rows) > _BLANK_ROWS * limits.rows:
            raise FileRefused(f"has more than {limits.rows:,} rows: split it into several files")

    def parse_cell(self, element: Element) -> dict[str, Any]:
        self._cells -= 1
        if self._cells < 0:
            raise FileRefused("has too many cells, blank ones included: delete empty rows below it")
        inline, left = element.find(INLINE_STRING), self.col_counter
        if inline is not None:
            element.remove(inline)  # else openpyxl reads it, fonts and all
        if element.get("t") == "d":
            element.set("t", "str")  # openpyxl would drop the offset of an ISO 8601 time
        cell = super().parse_cell(element)
        if cell["row"] != self.row_counter or not left < cell["column"] <= _COLUMNS:
            raise ValueError("cells are out of order")
        cell["value"] = self._value(cell, element, inline)
        return cell

    def _value(self, cell: dict[str, Any], element: Element, inline: Element | None) -> Cell:
        match cell["value"]:
            case None if inline is not None:
                return self._told(cell, text_of(inline))
            case None if _lacks_value(element):
                formula = element.findtext(FORMULA_TAG) or ""
                return self._trouble(cell, f"={formula}", _NO_VALUE)
            case None:
                return ""
            case bool(value):
                return "true" if value else "false"
            case int(index) if cell["data_type"] == "s":
                return index
            case str(value) if cell["data_type"] == "e":
                return self._trouble(cell, value, f"holds the error {value[:20]}")
            case str(value):
                return self._told(cell, unescaped(value))
            case value:
                return number_text(value, self._kind(cell["style_id"]), self._days_since)

    def _told(self, cell: dict[str, Any], text: str) -> str:
        if reads_like_a_serial(text):
            self.texts.append((self.row_counter, cell["column"] - 1))
        return self._text(text)

    def _text(self, text: str) -> str:
        self._room -= len(text)
        if self._room < 0:
            raise FileRefused("holds too much text: split it into several files")
        return text

    def _trouble(self, cell: dict[str, Any], text: str, reason: str) -> str:
        self.troubles.append(Trouble(self.row_counter, cell["column"] - 1, reason))
        return self._text(text)

    def _kind(self, style: int) -> Kind | None:
        return self._kinds[style] if 0 <= style < len(self._kinds) else None


def _lacks_value(element: Element) -> bool:
    """A formula whose value is an empty text has an empty element to say so."""
    if element.find(FORMULA_TAG) is None:
        return False
    return element.get("t") != "str" or element.find(VALUE_TAG) is None
