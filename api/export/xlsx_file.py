"""An export as .xlsx: every text a string, written row by row so that memory stays flat."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, ParamSpec

from xlsxwriter import Workbook
from xlsxwriter.exceptions import FileCreateError
from xlsxwriter.worksheet import Worksheet

from api.errors import TooLongForSpreadsheet
from api.export.table import OWN, headings, pages
from read_side.export import Export
from write_side.domain.cells import Digits
from write_side.imports.escapes import escaped

P = ParamSpec("P")

LONGEST = 32_767
"""UTF-16 units in a cell; what is longer, spreadsheets cut off."""
_OPTIONS = {
    "constant_memory": True,
    "strings_to_formulas": False,
    "strings_to_numbers": False,
    "strings_to_urls": False,
}
_WIDTHS = {"ID": 38, "Title": 40, "Slug": 30, "Status": 10, "Content type": 16}
_WIDTH = 24
_OUTER_BLANK = re.compile(r"\s|.*\s\Z", re.DOTALL)


class _Sheet(Worksheet):  # type: ignore[misc]
    """XlsxWriter's, but for two of its faults, which would not give every text back: escapes that
    share an underscore, and a text ``<r>…</r>``, which it would write as XML."""

    @staticmethod
    def _escape_control_characters(data: str) -> str:
        return escaped(data)

    def _xml_rich_inline_string(self, string: str, attributes: Any = ()) -> None:
        self._xml_inline_string(string, _OUTER_BLANK.match(string), attributes)


class XlsxFile:
    """Writes one sheet to a path, its temporary files beside it."""

    def __init__(self, path: Path, type_slug: str, columns: Sequence[str]) -> None:
        self._book = Workbook(str(path), {**_OPTIONS, "tmpdir": str(path.parent)})
        self._book.use_zip64()
        self._sheet = self._book.add_worksheet(_sheet_name(type_slug), worksheet_class=_Sheet)
        self._columns = columns
        self._row = 0
        self._sheet.freeze_panes(1, 0)
        for index, heading in enumerate(columns):
            width = _WIDTHS.get(heading, _WIDTH) if index < len(OWN) else _WIDTH
            self._sheet.set_column(index, index, width)
        bold = self._book.add_format({"bold": True})
        for index, heading in enumerate(columns):
            self._sheet.write_string(0, index, heading, bold)

    def add(self, rows: Iterable[Sequence[str]]) -> None:
        """Raises TooLongForSpreadsheet."""
        for row in rows:
            self._row += 1
            for index, cell in enumerate(row):
                if cell:
                    self._write(index, cell, row)

    def close(self) -> None:
        """The file is complete from then on. Raises OSError."""
        # Numbers that a spreadsheet could not hold are text, which is no mistake to be marked.
        self._sheet.ignore_errors({"number_stored_as_text": "A1:XFD1048576"})
        try:
            self._book.close()
        except FileCreateError as error:
            raise OSError(*error.args[0].args) from error

    def discard(self) -> None:
        """Let go of what is half written."""
        self._sheet._opt_close()  # noqa: SLF001 - there is no other way that writes nothing

    def _write(self, index: int, cell: str, row: Sequence[str]) -> None:
        if type(cell) is Digits and is_held(cell):
            self._sheet.write_number(self._row, index, float(cell))
        elif len(cell) > LONGEST // 2 and (length := _units(cell)) > LONGEST:
            slug, column = row[OWN.index("Slug")], self._columns[index]
            raise TooLongForSpreadsheet(slug, column, length, LONGEST)
        else:
            self._sheet.write_string(self._row, index, cell)


def is_held(digits: str) -> bool:
    """Whether a spreadsheet's number is read back as the same digits; it keeps 15 of them."""
    if digits == "-0" or "E" in digits:  # spreadsheets choose the exponent, and import its letter
        return False
    return f"{float(digits):.15G}" == digits


def _always() -> bool:
    return True


async def write_xlsx(export: Export, path: Path, is_wanted: Callable[[], bool] = _always) -> bool:
    """The whole file, in a folder of its own; false where it was no longer wanted before its end.

    Raises TooLongForSpreadsheet.
    """
    file = XlsxFile(path, export.content_type.slug, headings(export.content_type))
    try:
        async for rows in pages(export):
            if not is_wanted():
                return False
            await _apart(file.add, rows)
        await _apart(file.close)
        return True
    finally:
        file.discard()


async def _apart(work: Callable[P, None], *given: P.args, **named: P.kwargs) -> None:
    """In a thread, which has ended when this has: whoever gives up may remove its files."""
    working = asyncio.ensure_future(asyncio.to_thread(work, *given, **named))
    try:
        await asyncio.shield(working)
    finally:
        await asyncio.wait([working])


def _units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def _sheet_name(type_slug: str) -> str:
    """A slug is nearly one: of up to 31 characters, and none that Excel keeps for itself."""
    name = type_slug[:31]
    return f"{name}_" if name == "history" else name
