"""An export as .xlsx. Texts are string cells; rows are written one by one, so memory use is
constant.

Texts that are too long for a cell are continued on a second sheet, which exists only in that case.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import ParamSpec

from xlsxwriter import Workbook
from xlsxwriter.exceptions import FileCreateError
from xlsxwriter.worksheet import Worksheet

from api.export.table import headings, pages
from read_side.export import Export
from write_side.domain.cells import Digits
from write_side.imports.columns import EXPORTED
from write_side.imports.escapes import escaped
from write_side.imports.xlsx.continuations import HEADINGS, SHEET, occurrences, split

P = ParamSpec("P")

_OPTIONS = {
    "constant_memory": True,
    "strings_to_formulas": False,
    "strings_to_numbers": False,
    "strings_to_urls": False,
}
_WIDTHS = {"ID": 38, "Text": 80, "Title": 40, "Slug": 30, "Status": 10, "Content type": 16}
_WIDTH = 24


class _Sheet(Worksheet):  # type: ignore[misc]
    """XlsxWriter's sheet with our escapes. Its own escapes lose literals that share an underscore
    and write a text ``<r>…</r>`` as XML; there is no public way to replace them (ADR 23)."""

    @staticmethod
    def _escape_control_characters(data: str) -> str:
        text = escaped(data)
        return f"_x003C_{text[1:]}" if text.startswith("<r>") else text


class _SheetWriter:
    """Appends rows of texts to one sheet, below its headings."""

    def __init__(self, book: Workbook, name: str, columns: Sequence[str]) -> None:
        self._sheet = book.add_worksheet(name, worksheet_class=_Sheet)
        self._row = 0
        self._sheet.freeze_panes(1, 0)
        # Numbers that a spreadsheet cannot hold are text on purpose; do not mark them as errors.
        self._sheet.ignore_errors({"number_stored_as_text": "A1:XFD1048576"})
        bold = book.add_format({"bold": True})
        for index, heading in enumerate(columns):
            width = _WIDTHS.get(heading, _WIDTH) if index < len(EXPORTED) else _WIDTH
            self._sheet.set_column(index, index, width)
            self._sheet.write_string(0, index, heading, bold)

    def add(self, row: Iterable[str]) -> None:
        """Every cell holds its text."""
        self._row += 1
        for index, cell in enumerate(row):
            if not cell:
                continue
            if type(cell) is Digits and is_exact(cell):
                self._sheet.write_number(self._row, index, float(cell))
            else:
                self._sheet.write_string(self._row, index, cell)

    def discard(self) -> None:
        self._sheet.row_data_fh.close()


class XlsxFile:
    """Writes the sheets to a path, with its temporary files in the same folder."""

    def __init__(self, path: Path, type_slug: str, columns: Sequence[str]) -> None:
        self._book = Workbook(str(path), {**_OPTIONS, "tmpdir": str(path.parent)})
        self._book.use_zip64()
        self._sheets = [_SheetWriter(self._book, _sheet_name(type_slug), columns)]
        self._columns = list(zip(columns, occurrences(columns), strict=True))

    def add(self, rows: Iterable[Sequence[str]]) -> None:
        """The first cell of a row is the entry's id."""
        for row in rows:
            self._sheets[0].add([self._fitting(row[0], at, cell) for at, cell in enumerate(row)])

    def _fitting(self, entry_id: str, column: int, text: str) -> str:
        """The part of the text that fits into the cell; the rest goes to the second sheet."""
        cell, parts = split(text)
        for part in parts:
            number = f"{part.number} of {part.of}"
            self._continued().add([entry_id, *self._columns[column], number, part.text])
        return cell

    def _continued(self) -> _SheetWriter:
        if len(self._sheets) == 1:
            self._sheets.append(_SheetWriter(self._book, SHEET, HEADINGS))
        return self._sheets[1]

    def close(self) -> None:
        """Writes the workbook. Raises OSError."""
        try:
            self._book.close()
        except FileCreateError as error:
            raise OSError(*error.args[0].args) from error

    def discard(self) -> None:
        """Closes the rows' temporary files without writing the workbook."""
        for sheet in self._sheets:
            sheet.discard()


def is_exact(digits: str) -> bool:
    """Whether a spreadsheet's number, of 15 digits, is read back as the same text."""
    if digits == "-0" or "E" in digits:  # spreadsheets choose how to write an exponent
        return False
    return f"{float(digits):.15G}" == digits


async def write_xlsx(
    export: Export, path: Path, is_wanted: Callable[[], bool] = lambda: True
) -> bool:
    """Writes the whole file in a separate folder; false if ``is_wanted`` returned false and the
    file is incomplete."""
    file = XlsxFile(path, export.content_type.slug, headings(export))
    try:
        async for rows in pages(export):
            if not is_wanted():
                return False
            await _in_thread(file.add, rows)
        await _in_thread(file.close)
        return True
    finally:
        file.discard()


async def _in_thread(work: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> None:
    """Returns only after the thread has ended, even if cancelled, so that its files can be
    removed."""
    working = asyncio.ensure_future(asyncio.to_thread(work, *args, **kwargs))
    try:
        await asyncio.shield(working)
    finally:
        await asyncio.wait([working])


def _sheet_name(type_slug: str) -> str:
    """The slug, adapted to Excel's rules: at most 31 characters, and neither its reserved name nor
    that of the other sheet."""
    name = type_slug[:31]
    return f"{name}_" if name.casefold() in ("history", SHEET.casefold()) else name
