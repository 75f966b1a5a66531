"""A workbook's sheet as a table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from write_side.imports.files import Choice, FileRefused, Limits, Table
from write_side.imports.tabulating import Record, tabulated
from write_side.imports.xlsx.archive import DAMAGED, Archive
from write_side.imports.xlsx.formats import kinds_of
from write_side.imports.xlsx.package import Package, Sheet, package_in
from write_side.imports.xlsx.sheet import read_sheet
from write_side.imports.xlsx.strings import strings_at
from write_side.imports.xlsx.values import Cell

_TROUBLES = 100_000


def workbook_table(file: BinaryIO, name: str, choice: Choice, limits: Limits) -> Table:
    """The table of an .xlsx file. Raises FileRefused with what follows the file's name."""
    archive = Archive(file, limits)
    package = package_in(archive)
    sheet = _sheet(package, choice)
    kinds = kinds_of(archive.chunks(package.styles)) if package.styles else []
    read = read_sheet(archive.chunks(sheet.part), kinds, package.epoch, limits)
    if len(read.troubles) > _TROUBLES:
        raise FileRefused(f"has more than {_TROUBLES:,} cells with errors: correct them first")
    strings = _strings(read.rows, archive, package, limits)
    headings, rows = tabulated(
        _records(read.rows, strings), limits, limits.workbook_cell_characters
    )
    return Table(
        name,
        headings,
        rows,
        sheets=tuple(one.name for one in package.sheets),
        sheet=sheet.name,
        epoch=package.epoch,
        troubles=tuple(read.troubles),
    )


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


def _strings(
    rows: dict[int, dict[int, Cell]], archive: Archive, package: Package, limits: Limits
) -> dict[int, str]:
    indexes = {cell for row in rows.values() for cell in row.values() if isinstance(cell, int)}
    if not indexes:
        return {}
    if package.strings is None:
        raise FileRefused(DAMAGED)
    return strings_at(indexes, archive.chunks(package.strings), limits)


def _records(rows: dict[int, dict[int, Cell]], strings: dict[int, str]) -> Iterator[Record]:
    """All as wide as the widest: a column without a heading is still a column."""
    width = 1 + max((max(row) for row in rows.values()), default=-1)
    for number, row in rows.items():
        cells = [""] * width
        for column, cell in row.items():
            cells[column] = strings[cell] if isinstance(cell, int) else cell
        yield number, cells
