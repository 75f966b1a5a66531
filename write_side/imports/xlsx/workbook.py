"""A workbook's sheet as a table."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from defusedxml.common import DefusedXmlException

from write_side.imports.files import Choice, FileRefused, Limits, Table
from write_side.imports.tabulating import Record, tabulated
from write_side.imports.xlsx.archive import DAMAGED, Archive
from write_side.imports.xlsx.formats import kinds_of
from write_side.imports.xlsx.package import Package, Sheet, package_in
from write_side.imports.xlsx.serials import reads_like_a_serial
from write_side.imports.xlsx.sheet import Rows, SheetReader
from write_side.imports.xlsx.strings import strings_at

_ENTITIES = "declares entities or a document type, which no spreadsheet does"


def workbook_table(file: BinaryIO, name: str, choice: Choice, limits: Limits) -> Table:
    """The table of an .xlsx file. Raises FileRefused with what follows the file's name."""
    with _damage_told():
        archive = Archive(file, limits)
        package = package_in(archive, file)
        sheet = _sheet(package, choice)
        kinds = kinds_of(archive, package.styles) if package.styles else []
        reader = SheetReader(kinds, package.epoch, limits)
        reader.read(archive, sheet.part)
        strings = _strings(reader.rows, archive, package, limits)
    headings, rows = tabulated(
        _records(reader.rows, strings), limits, limits.workbook_cell_characters
    )
    return Table(
        name,
        headings,
        rows,
        sheets=tuple(sheet.name for sheet in package.sheets),
        sheet=sheet.name,
        epoch=package.epoch,
        texts=(*reader.texts, *_texts(reader.rows, strings)),
        troubles=tuple(reader.troubles),
    )


@contextmanager
def _damage_told() -> Iterator[None]:
    """Whatever is raised is a refusal of the file; what openpyxl warns of is no matter."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        except (FileRefused, MemoryError):
            raise
        except DefusedXmlException:
            raise FileRefused(_ENTITIES) from None
        except Exception as error:
            # openpyxl says in very many ways that a file is none, and this is its own process.
            raise FileRefused(DAMAGED) from error


def _sheet(package: Package, choice: Choice) -> Sheet:
    """The chosen one, else the first that can be seen."""
    if not package.sheets:
        raise FileRefused("has no sheet with cells")
    if choice.sheet is None:
        return min(package.sheets, key=lambda sheet: sheet.is_hidden)
    for sheet in package.sheets:
        if sheet.name == choice.sheet:
            return sheet
    names = ", ".join(sheet.name for sheet in package.sheets[:20])
    raise FileRefused(f"has no sheet {choice.sheet!r}; there are: {names}")


def _strings(rows: Rows, archive: Archive, package: Package, limits: Limits) -> dict[int, str]:
    indexes = {cell for row in rows.values() for cell in row.values() if isinstance(cell, int)}
    if not indexes:
        return {}
    return strings_at(indexes, archive, package.strings or "", limits)


def _texts(rows: Rows, strings: dict[int, str]) -> Iterator[tuple[int, int]]:
    """The shared ones among those that read like numbers."""
    like_numbers = {index for index, text in strings.items() if reads_like_a_serial(text)}
    for number, row in rows.items() if like_numbers else ():
        for column, cell in row.items():
            if cell in like_numbers:
                yield number, column


def _records(rows: Rows, strings: dict[int, str]) -> Iterator[Record]:
    """All as wide as the widest: a column without a heading is still a column."""
    width = 1 + max((max(row) for row in rows.values()), default=-1)
    for number, row in rows.items():
        cells = [""] * width
        for column, cell in row.items():
            cells[column] = strings[cell] if isinstance(cell, int) else cell
        yield number, cells
