"""Records as a table: what makes a row, and how many, how wide and how long they may be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from write_side.imports.files import FileRefused, Limits, Row

Record = tuple[int, Sequence[str]]
"""A row's number and its cells, of any width."""


def tabulated(
    records: Iterator[Record], limits: Limits, cell_characters: int
) -> tuple[tuple[str, ...], tuple[Row, ...]]:
    """The headings, and the rows that are not blank, each as wide as the headings.

    Columns that are blank to the end are cut off. Raises FileRefused.
    """
    number, headings = next(records, (0, ()))
    if number != 1 or _width(headings) == 0:
        raise FileRefused("has no headings: its first row names the columns")
    rows: list[Row] = []
    room = limits.text_bytes - _checked(1, headings, limits, cell_characters)
    for number, cells in records:
        if number > limits.row_number:
            raise FileRefused(too_far(number, limits))
        if _width(cells) == 0:
            continue
        if len(rows) == limits.rows:
            raise FileRefused(f"has more than {limits.rows:,} rows: split it into several files")
        if _width(cells) > len(headings):
            raise FileRefused(
                f"has more cells in row {number} than there are headings:"
                " name every column in the first row, or choose another separator"
            )
        room -= _checked(number, cells, limits, cell_characters)
        if room < 0:
            raise FileRefused("holds too much text: split it into several files")
        rows.append(Row(number, tuple(cells)))
    width = max(map(_width, (headings, *(row.cells for row in rows))))
    return _filled(headings, width), tuple(
        Row(row.number, _filled(row.cells, width)) for row in rows
    )


def letters(column: int) -> str:
    """How a spreadsheet calls the column with this index."""
    name = ""
    column += 1
    while column:
        column, digit = divmod(column - 1, 26)
        name = chr(ord("A") + digit) + name
    return name


def too_far(number: int, limits: Limits) -> str:
    return (
        f"reaches down to row {number:,}, and is read to row {limits.row_number:,}:"
        " delete what stands far below the table"
    )


def too_wide(limits: Limits) -> str:
    return f"has more than {limits.columns} columns: leave out those that are not imported"


def _width(cells: Sequence[str]) -> int:
    """Up to the last cell that is not blank."""
    return next((at for at in range(len(cells), 0, -1) if cells[at - 1].strip()), 0)


def _filled(cells: Sequence[str], width: int) -> tuple[str, ...]:
    return (*cells[:width], *[""] * (width - len(cells)))


def _checked(number: int, cells: Sequence[str], limits: Limits, cell_characters: int) -> int:
    """How many bytes of text they hold."""
    if len(cells) > limits.columns < _width(cells):
        raise FileRefused(too_wide(limits))
    for column, cell in enumerate(cells):
        if len(cell) > cell_characters:
            raise FileRefused(
                f"has more than {cell_characters:,} characters in cell {letters(column)}{number}:"
                " shorten it"
            )
    return sum(len(cell) if cell.isascii() else len(cell.encode()) for cell in cells)
