"""A file as a table of text: what is read of it, and what is refused before it is read."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

MAX_BYTES = 16 * 1024 * 1024
MAX_ROWS = 2000


class FileRefused(Exception):
    """The file as a whole cannot be imported; the text is one line that says why."""


class Row(Struct, frozen=True):
    """``number`` as a spreadsheet counts: the headings are row 1."""

    number: int
    cells: tuple[str, ...]


class Table(Struct, frozen=True):
    """A file's headings and its rows that are not blank, each as wide as the headings."""

    name: str
    headings: tuple[str, ...]
    rows: tuple[Row, ...]


def read_table(path: Path) -> Table:
    """The table in a CSV file. Raises FileRefused."""
    if path.suffix.lower() != ".csv":
        raise FileRefused(f"{path} is no CSV file: its name must end in .csv")
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise FileRefused(f"{path} has {size:,} bytes; at most {MAX_BYTES:,} are imported")
        document = path.read_bytes()
    except OSError as error:
        raise FileRefused(f"{path} cannot be read: {error.strerror}") from None
    return csv_table(document, path.name)


def csv_table(document: bytes, name: str) -> Table:
    """The table of a CSV document in UTF-8, with or without BOM. Raises FileRefused."""
    try:
        text = document.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileRefused(
            f"{name} is not in UTF-8 (byte {error.start + 1}): save it as «CSV UTF-8»"
        ) from None
    records = _records(text, name)
    headings = next(records, None)
    if headings is None or not any(map(str.strip, headings)):
        raise FileRefused(f"{name} has no headings: its first row names the columns")
    return Table(name, tuple(headings), tuple(_rows(records, headings, name)))


def _records(text: str, name: str) -> Iterator[list[str]]:
    csv.field_size_limit(MAX_BYTES)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        yield from reader
    except csv.Error as error:
        raise FileRefused(f"{name} is no CSV in line {reader.line_num}: {error}") from None


def _rows(records: Iterator[list[str]], headings: list[str], name: str) -> Iterator[Row]:
    found = 0
    for number, record in enumerate(records, 2):
        cells = [*record, *[""] * (len(headings) - len(record))]
        if not any(map(str.strip, cells)):
            continue
        found += 1
        if found > MAX_ROWS:
            raise FileRefused(
                f"{name} has more than {MAX_ROWS:,} rows; split it into several files"
            )
        if any(map(str.strip, cells[len(headings) :])):
            raise FileRefused(f"{name}, row {number}: it has more cells than there are headings")
        yield Row(number, tuple(cells[: len(headings)]))
