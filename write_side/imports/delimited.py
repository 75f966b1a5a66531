"""CSV as people's programs write it: any separator, quoted line breaks, several encodings."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from itertools import islice

from write_side.imports.files import (
    DELIMITERS,
    LIMITS,
    NO_CHOICE,
    Choice,
    FileRefused,
    Limits,
    Table,
)
from write_side.imports.guard import unguard
from write_side.imports.tabulating import Record, tabulated, too_wide
from write_side.imports.transcribing import transcribed

_SAMPLE = 50
_NAMED = re.compile('"?sep=([^"\r\n])"?(?:\r\n|\r|\n)', re.IGNORECASE)
"""The line by which Excel is told the separator; it does not count it as a row."""
_LINE = re.compile("[^\r\n]++(?:\r\n|\r|\n)?|\r\n|\r|\n")
_CELLS = 16_384
"""Of any row of a spreadsheet, blank ones included."""


def csv_table(document: bytes, name: str) -> Table:
    """The table of a CSV document that is ours, read in this very process. Raises FileRefused."""
    try:
        return delimited_table(document, name, NO_CHOICE, LIMITS)
    except FileRefused as refused:
        raise FileRefused(f"{name} {refused}") from None


def delimited_table(document: bytes, name: str, choice: Choice, limits: Limits) -> Table:
    """The table of a CSV document. Raises FileRefused with what follows the file's name."""
    text, encoding = transcribed(document, choice.encoding)
    named = _NAMED.match(text)
    delimiter = choice.delimiter or (named[1] if named else _found(text, limits))
    if delimiter not in DELIMITERS:
        raise FileRefused(f"has columns separated by {delimiter!r}: use a comma, semicolon or tab")
    records = _records(text, delimiter, limits, start=named.end() if named else 0)
    headings, rows = tabulated(records, limits, limits.cell_characters)
    return Table(name, headings, rows, encoding=encoding, delimiter=delimiter)


def _found(text: str, limits: Limits) -> str:
    """The separator by which the most rows are as wide as the headings.

    Only one that separates headings counts, so commas in the texts of a single column, or in JSON
    beside semicolons, are no reason to split them.
    """
    best, found = (0.0, 0), ","
    for delimiter in DELIMITERS:
        fit = _fit(text, delimiter, limits)
        if fit > best:
            best, found = fit, delimiter
    return found


def _fit(text: str, delimiter: str, limits: Limits) -> tuple[float, int]:
    try:
        sample = list(islice(_records(text, delimiter, limits), _SAMPLE))
    except FileRefused:
        return 0.0, 0
    widths = [len(cells) for _, cells in sample if any(cells)]
    if not widths or widths[0] < 2:
        return 0.0, 0
    return widths.count(widths[0]) / len(widths), widths[0]


def _records(text: str, delimiter: str, limits: Limits, start: int = 0) -> Iterator[Record]:
    csv.field_size_limit(limits.cell_characters)
    lines = (line[0] for line in _LINE.finditer(text, start))
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    first = 2 if start else 1
    number, begun = 0, first
    while True:
        try:
            record = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise FileRefused(_reason(error, begun, limits)) from None
        if len(record) > _CELLS:
            raise FileRefused(too_wide(limits))
        number += 1
        begun = reader.line_num + first
        yield number, [unguard(cell) for cell in record]


def _reason(error: csv.Error, line: int, limits: Limits) -> str:
    match str(error).split()[0]:
        case "field":
            return (
                f"has a cell of more than {limits.cell_characters:,} characters in the row"
                f" that begins in line {line}: shorten it"
            )
        case "unexpected":
            why = "a quotation mark is opened and never closed"
        case _:
            why = "after a closing quotation mark comes neither a separator nor the line's end"
    return f"is no CSV in line {line}: {why}"
