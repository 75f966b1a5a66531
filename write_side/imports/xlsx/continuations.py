"""Texts that are too long for a cell, continued on a second sheet; nothing is cut off.

The cell holds the beginning and ends with a marker. The second sheet holds the rest, in rows that
identify the cell by the ID of its row and the heading of its column, so that rows may be sorted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from write_side.imports.table import (
    TOO_MUCH_TEXT,
    CellError,
    FileRefused,
    Limits,
    Record,
    Row,
    Table,
    too_long,
)

LONGEST = 32_767
"""UTF-16 units in a cell: spreadsheets cut off the rest."""
SHEET = "Continued texts"
HEADINGS = ("ID", "Column", "Occurrence", "Part", "Text")
"""Occurrence distinguishes columns with the same heading, counted from 1. An example of Part is ``2
of 3``."""
MARKER = f"⟦continued on the sheet {SHEET}⟧"

Place: TypeAlias = tuple[str, str, str]
"""ID, heading and occurrence."""
_PART = re.compile(r"([1-9]\d{0,4}) of ([1-9]\d{0,4})", re.ASCII)
_AGAIN = "export the entries again, or replace the cell with the whole text"


class Part(Struct, frozen=True):
    number: int
    of: int
    text: str


def split(text: str) -> tuple[str, list[Part]]:
    """The text of the cell, and the parts for the second sheet, of which there are none if the cell
    can hold the text. A text that ends with the marker is also continued, by a part without
    text."""
    if not text.endswith(MARKER) and _fits_in_a_cell(text):
        return text, []
    beginning, rest = _cut(text, LONGEST - len(MARKER))
    texts = [] if rest else [""]
    while rest:
        part, rest = _cut(rest, LONGEST)
        texts.append(part)
    return beginning + MARKER, [Part(n, len(texts), part) for n, part in enumerate(texts, 1)]


def _fits_in_a_cell(text: str) -> bool:
    return len(text) <= LONGEST // 2 or len(text.encode("utf-16-le")) <= 2 * LONGEST


def _cut(text: str, units: int) -> tuple[str, str]:
    """Cuts the text at up to this many UTF-16 units, never inside a surrogate pair."""
    encoded = text[:units].encode("utf-16-le")[: 2 * units]
    beginning = encoded.decode("utf-16-le", "ignore")
    return beginning, text[len(beginning) :]


def occurrences(headings: Iterable[str]) -> list[str]:
    """For each heading, how often it has occurred so far."""
    seen: Counter[str] = Counter()
    found = []
    for heading in headings:
        seen[heading] += 1
        found.append(str(seen[heading]))
    return found


def is_continuation(records: Sequence[Record]) -> bool:
    """Whether the sheet is one of ours, by its first headings."""
    return bool(records) and tuple(records[0][1][: len(HEADINGS)]) == HEADINGS


def joined(table: Table, records: Sequence[Record], limits: Limits) -> Table:
    """The table with its continued texts, which the records of the second sheet hold.

    A marker without all of its parts is an error of the cell. Raises FileRefused if the texts
    exceed the limits.
    """
    return _Joiner(table, _parts(records), limits).joined()


def _parts(records: Sequence[Record]) -> dict[Place, list[Part]]:
    """A part whose number cannot be read counts as number 0, which no text has."""
    parts: dict[Place, list[Part]] = {}
    for _, cells in records[1:]:
        row_id, heading, occurrence, number, text = cells[: len(HEADINGS)]
        match = _PART.fullmatch(number.strip())
        part = Part(int(match[1]), int(match[2]), text) if match else Part(0, 0, text)
        parts.setdefault((row_id.strip(), heading, occurrence.strip()), []).append(part)
    return parts


class _Joiner:
    def __init__(self, table: Table, parts: Mapping[Place, list[Part]], limits: Limits) -> None:
        self._table = table
        self._parts = parts
        self._limits = limits
        self._ids = {row_id for row_id, _, _ in parts}
        self._columns = list(zip(table.headings, occurrences(table.headings), strict=True))
        names = [heading.strip().casefold() for heading in table.headings]
        self._id_column = names.index("id") if "id" in names else None
        self._bytes_left = limits.text_bytes
        self._errors: list[CellError] = []
        self._warnings: list[CellError] = []

    def joined(self) -> Table:
        rows = tuple(map(self._row, self._table.rows))
        return replace(
            self._table,
            rows=rows,
            cell_errors=(*self._table.cell_errors, *self._errors),
            warnings=(*self._table.warnings, *self._warnings),
        )

    def _row(self, row: Row) -> Row:
        if self._parts:
            self._take(row.cells)
        row_id = "" if self._id_column is None else row.cells[self._id_column].strip()
        if row_id not in self._ids and not any(cell.endswith(MARKER) for cell in row.cells):
            return row
        return Row(row.number, tuple(self._cells(row, row_id)))

    def _cells(self, row: Row, row_id: str) -> Iterator[str]:
        for column, (cell, named) in enumerate(zip(row.cells, self._columns, strict=True)):
            parts = self._parts.get((row_id, *named), [])
            if not cell.endswith(MARKER):
                if parts:
                    reason = f"is used as it is: its continuation on the sheet {SHEET!r} is ignored"
                    self._warnings.append(CellError(row.number, column, reason))
                yield cell
            elif missing := _missing(parts):
                self._errors.append(CellError(row.number, column, missing))
                yield cell
            else:
                yield self._text(row.number, column, cell, parts)

    def _text(self, number: int, column: int, cell: str, parts: Iterable[Part]) -> str:
        rest = [part.text for part in sorted(parts, key=lambda part: part.number)]
        self._take(rest)
        most = self._limits.cell_characters
        if len(cell) - len(MARKER) + sum(map(len, rest)) > most:
            raise FileRefused(too_long(number, column, most))
        return cell.removesuffix(MARKER) + "".join(rest)

    def _take(self, texts: Iterable[str]) -> None:
        self._bytes_left -= sum(len(text.encode()) for text in texts)
        if self._bytes_left < 0:
            raise FileRefused(TOO_MUCH_TEXT)


def _missing(parts: Sequence[Part]) -> str | None:
    """Why the parts do not make a whole text, or None."""
    if not parts:
        return f"is continued on the sheet {SHEET!r}, which has no text for it: {_AGAIN}"
    numbers = sorted(part.number for part in parts)
    if any(part.of != len(parts) for part in parts) or numbers != [*range(1, len(parts) + 1)]:
        return f"has missing or repeated parts on the sheet {SHEET!r}: {_AGAIN}"
    return None
