"""A file as a table of text: what is read of it, and what may be chosen and bounded in reading."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

DELIMITERS = (",", ";", "\t", "|")
ENCODINGS = (
    "utf-8",
    "utf-16",
    "cp1252",
    "iso8859-15",
    "mac-roman",
    "cp437",
    "cp850",
    "cp1250",
    "cp1251",
    "cp1253",
    "cp1254",
    "cp1255",
    "cp1256",
    "cp1257",
    "koi8-r",
    "shift_jis",
    "euc-jp",
    "gb18030",
    "big5",
    "euc-kr",
)
"""Of a CSV file that is neither in UTF-8 nor what western spreadsheets write, cp1252."""

Epoch = Literal[1900, 1904]
"""The year from which a workbook counts the days of its dates."""


class FileRefused(Exception):
    """The file as a whole cannot be imported; the text is one line that says why."""


class Choice(Struct, frozen=True):
    """What a person has chosen. None is found out from the file."""

    sheet: str | None = None
    encoding: str | None = None
    delimiter: str | None = None


NO_CHOICE = Choice()


class Limits(Struct, frozen=True):
    """What reading a file may take.

    ``rows`` that are not blank, but ``cells`` that are: a workbook has them where it formats.
    ``memory_bytes`` is address space, not what is resident.
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
    cell_characters: int = 2 * 1024**2  # what an entry takes: its export can be imported
    workbook_cell_characters: int = 32_767
    text_bytes: int = 16 * 1024**2
    memory_bytes: int = 512 * 1024**2
    cpu_seconds: int = 10
    seconds: float = 20.0


LIMITS = Limits()


class Row(Struct, frozen=True):
    """``number`` as a spreadsheet counts: the headings are row 1."""

    number: int
    cells: tuple[str, ...]


class Trouble(Struct, frozen=True):
    """A cell that holds no data, such as an error: ``reason`` reads on after its heading.

    ``column`` is an index into the row's cells.
    """

    row: int
    column: int
    reason: str


class Table(Struct, frozen=True):
    """A file's headings and its rows that are not blank, each as wide as the headings.

    ``sheets`` to ``sheet`` and ``epoch`` are a workbook's, ``encoding`` and ``delimiter`` those
    that a CSV file was read with. ``texts``: by row and column, those of a workbook's cells that
    are texts and read like numbers: they are no days since the epoch.
    """

    name: str
    headings: tuple[str, ...]
    rows: tuple[Row, ...]
    sheets: tuple[str, ...] = ()
    sheet: str | None = None
    encoding: str | None = None
    delimiter: str | None = None
    epoch: Epoch | None = None
    texts: tuple[tuple[int, int], ...] = ()
    troubles: tuple[Trouble, ...] = ()
