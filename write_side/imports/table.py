"""A file as a table of text, and the limits of reading it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from write_side.domain.refusals import ExplainedError

DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|"}
EncodingSource = Literal["certain", "detected", "chosen"]
"""How the encoding is known: a byte order mark and valid UTF-8 are certain."""
CHUNK_CELLS = 10_000
"""Rows that take a few milliseconds to encode or decode."""
Epoch = Literal[1900, 1904]
"""The year from which a workbook counts the days of its dates."""
Record = tuple[int, Sequence[str]]
"""A row's number and its cells, of any width."""


class FileRefused(ExplainedError):
    """The file as a whole cannot be imported; the text is one line that says why."""


class TooManyRows(FileRefused):
    """``rows`` are those that are not blank."""

    def __init__(self, rows: int, limit: int, name: str = "") -> None:
        self.rows = rows
        most = f"the limit is {limit:,}: split it into several files"
        super().__init__(f"{name} has {rows:,} rows; {most}".strip())


class NoHeadings(FileRefused):
    def __init__(self) -> None:
        super().__init__("has no headings: write the names of the columns into the first row")


class UnusedChoice(FileRefused):
    """A choice does not apply to this type of file."""


class Choice(Struct, frozen=True):
    """How to read a file. None means detected automatically."""

    sheet: str | None = None
    encoding: str | None = None
    delimiter: str | None = None


NO_CHOICE = Choice()


class Limits(Struct, frozen=True):
    """The limits of reading one file.

    ``rows`` counts those that are not blank; ``cells`` includes blank ones, which a workbook has
    for formats. ``memory_bytes`` is address space, not resident memory.
    """

    upload_bytes: int = 16 * 1024**2
    unpacked_bytes: int = 128 * 1024**2
    directory_bytes: int = 1024**2
    parts: int = 2_000
    ratio: int = 100
    ratio_from_bytes: int = 16 * 1024**2
    rows: int = 2_000
    row_number: int = 100_000
    columns: int = 500
    cells: int = 1_000_000
    cell_characters: int = 2 * 1024**2  # the size limit of an entry, so that its export fits
    workbook_cell_characters: int = 32_767
    text_bytes: int = 16 * 1024**2
    memory_bytes: int = 512 * 1024**2
    cpu_seconds: int = 10
    seconds: float = 20.0


LIMITS = Limits()
SPLIT_LIMITS = replace(
    LIMITS,
    upload_bytes=64 * 1024**2,
    unpacked_bytes=512 * 1024**2,
    rows=100_000,
    row_number=200_000,
    text_bytes=64 * 1024**2,
    memory_bytes=2 * 1024**3,
    cpu_seconds=60,
    seconds=120.0,
)
"""The limits of a file that the command line imports in parts."""
NAME_COLUMNS = "name every column in row 1, and delete rows above the headings"
TOO_MUCH_TEXT = "has too much text: split it into several files"


class Row(Struct, frozen=True):
    """``number`` as a spreadsheet counts: the headings are row 1."""

    number: int
    cells: tuple[str, ...]

    @property
    def parts(self) -> int:
        """At least the number of references and elements in its cells: commas separate them."""
        return sum(cell.count(",") for cell in self.cells)


class CellError(Struct, frozen=True):
    """A cell without a value, such as an error; ``reason`` continues a sentence that begins with
    the heading. ``column`` is an index into the row's cells, or None for a warning about the whole
    row."""

    row: int
    column: int | None
    reason: str


class Table(Struct, frozen=True):
    """A file's headings and its rows that are not blank, each as wide as the headings.

    ``sheets``, ``sheet`` and ``epoch`` are set for a workbook, ``encoding``, its source and
    ``delimiter`` for a CSV file. ``texts``: row and column of a workbook's cells that are text but
    look like numbers; they are not days since the epoch. ``warnings``: about rows, and about
    cells that have a value.
    """

    name: str
    headings: tuple[str, ...]
    rows: tuple[Row, ...]
    sheets: tuple[str, ...] = ()
    sheet: str | None = None
    encoding: str | None = None
    encoding_source: EncodingSource | None = None
    delimiter: str | None = None
    epoch: Epoch | None = None
    texts: tuple[tuple[int, int], ...] = ()
    cell_errors: tuple[CellError, ...] = ()
    warnings: tuple[CellError, ...] = ()


def headings_and_rows(
    records: Iterator[Record], limits: Limits, cell_characters: int
) -> tuple[tuple[str, ...], tuple[Row, ...]]:
    """The headings, and the rows that are not blank, each as wide as the headings.

    Trailing columns that are blank throughout are cut off. Raises FileRefused.
    """
    number, headings = next(records, (0, ()))
    if number != 1 or _width(headings) == 0:
        raise NoHeadings
    rows: list[Row] = []
    bytes_left = limits.text_bytes - _checked_bytes(1, headings, limits, cell_characters)
    for number, cells in records:
        if number > limits.row_number:
            raise FileRefused(too_far(number, limits))
        if _width(cells) == 0:
            continue
        if len(rows) == limits.rows:
            more = sum(1 for _, others in records if _width(others))
            raise TooManyRows(len(rows) + 1 + more, limits.rows)
        if _width(cells) > len(headings):
            raise FileRefused(
                f"has more cells in row {number} than headings in row 1: {NAME_COLUMNS};"
                " in a CSV file, choose another delimiter, or put quotation marks directly around"
                " cells that contain it"
            )
        bytes_left -= _checked_bytes(number, cells, limits, cell_characters)
        if bytes_left < 0:
            raise FileRefused(TOO_MUCH_TEXT)
        rows.append(Row(number, tuple(cells)))
    width = max(map(_width, (headings, *(row.cells for row in rows))))
    return _filled(headings, width), tuple(
        Row(row.number, _filled(row.cells, width)) for row in rows
    )


def non_ascii_cells(table: Table, most: int = 5) -> list[str]:
    """The first distinct cells, headings included, that a wrong encoding would garble."""
    rows = (table.headings, *(row.cells for row in table.rows))
    found: dict[str, None] = {}
    for cell in (cell for cells in rows for cell in cells if not cell.isascii()):
        found[cell] = None
        if len(found) == most:
            break
    return list(found)


def column_letters(column: int) -> str:
    """A spreadsheet's name of the column with this index."""
    name = ""
    column += 1
    while column:
        column, digit = divmod(column - 1, 26)
        name = chr(ord("A") + digit) + name
    return name


def too_far(number: int, limits: Limits) -> str:
    return (
        f"has cells in row {number:,}, but only {limits.row_number:,} rows are read:"
        " delete the cells far below the table"
    )


def too_long(number: int, column: int, most: int) -> str:
    place = f"{column_letters(column)}{number}"
    return f"has more than {most:,} characters in cell {place}: shorten it"


def too_wide(limits: Limits) -> str:
    return f"has more than {limits.columns} columns: leave out those that are not imported"


def _width(cells: Sequence[str]) -> int:
    """Up to the last cell that is not blank."""
    return next((at for at in range(len(cells), 0, -1) if cells[at - 1].strip()), 0)


def _filled(cells: Sequence[str], width: int) -> tuple[str, ...]:
    return (*cells[:width], *[""] * (width - len(cells)))


def _checked_bytes(number: int, cells: Sequence[str], limits: Limits, cell_characters: int) -> int:
    """The bytes of text in the cells. Raises FileRefused if a cell or the row is too large."""
    if len(cells) > limits.columns < _width(cells):
        raise FileRefused(too_wide(limits))
    for column, cell in enumerate(cells):
        if len(cell) > cell_characters:
            raise FileRefused(too_long(number, column, cell_characters))
    return sum(len(cell) if cell.isascii() else len(cell.encode()) for cell in cells)


class EncodedTable(Struct, frozen=True):
    """A table as bytes, to send between processes and to store. ``table`` is without its rows and
    texts.

    These are encoded in chunks, because decoding a million cells at once takes a tenth of a second,
    during which no other thread of the process runs.
    """

    table: Table
    rows: tuple[bytes, ...]
    texts: tuple[bytes, ...]


_rows = msgspec.msgpack.Decoder(list[Row])
_texts = msgspec.msgpack.Decoder(list[tuple[int, int]])


def encode_table(table: Table) -> EncodedTable:
    """Best called in a thread, like ``decode_table``."""
    chunk_rows = max(1, CHUNK_CELLS // max(1, len(table.headings)))
    return EncodedTable(
        table=replace(table, rows=(), texts=()),
        rows=tuple(_chunks(table.rows, chunk_rows)),
        texts=tuple(_chunks(table.texts, CHUNK_CELLS)),
    )


def decode_table(encoded: EncodedTable) -> Table:
    """Raises msgspec.DecodeError."""
    return replace(
        encoded.table,
        rows=tuple(row for chunk in encoded.rows for row in _rows.decode(chunk)),
        texts=tuple(text for chunk in encoded.texts for text in _texts.decode(chunk)),
    )


def fingerprint_of(table: Table) -> str:
    """Equal for files with the same headings and cells; their names do not matter. Best called in
    a thread."""
    encoded = encode_table(table)
    # Not their reasons, whose wording may change.
    errors = [(error.row, error.column) for error in table.cell_errors]
    head = msgspec.msgpack.encode((table.headings, table.epoch, errors))
    return digest_of(head, encoded)


def digest_of(head: bytes, encoded: EncodedTable) -> str:
    digest = hashlib.sha256()
    for part in (head, *encoded.rows, *encoded.texts):
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def _chunks(items: Sequence[Any], size: int) -> Iterator[bytes]:
    for first in range(0, len(items), size):
        yield msgspec.msgpack.encode(items[first : first + size])
