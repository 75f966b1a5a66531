"""The type of a file, by its first bytes and its name: the two must agree."""

from __future__ import annotations

import re
from typing import Literal

from write_side.imports.table import FileRefused

FileType = Literal["csv", "xlsx"]
HEAD_BYTES = 4096

_EXPORT = "open it in a spreadsheet program and save it as .xlsx or «CSV UTF-8»"
_SIGNATURES = (
    (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        f"is an old Excel file, .xls, or has a password: {_EXPORT}",
    ),
    (b"%PDF", "is a PDF document: import the table that it was made from"),
    (b"{\\rtf", "is a text document, .rtf: copy its table into a spreadsheet"),
    (b"\x89PNG", "is an image: import a table"),
    (b"\xff\xd8\xff", "is an image: import a table"),
    (b"GIF8", "is an image: import a table"),
    (b"RIFF", "is an image or a sound: import a table"),
    (b"\x1f\x8b", "is compressed: unpack it and import the file that is in it"),
    (b"7z\xbc\xaf", "is compressed: unpack it and import the file that is in it"),
    (b"Rar!", "is compressed: unpack it and import the file that is in it"),
    (b"SQLite format 3\0", "is a database: export its table as CSV"),
    (b"PAR1", "is a Parquet file: export its table as CSV"),
)
_HTML = re.compile(
    rb"(\xef\xbb\xbf)?\s*<(!doctype|html|head|body|table|meta|\?xml|!--)", re.IGNORECASE
)


def file_type(head: bytes, name: str) -> FileType:
    """Raises FileRefused with what follows the file's name."""
    extension = name.rpartition(".")[2].lower() if "." in name else ""
    for signature, reason in _SIGNATURES:
        if head.startswith(signature):
            raise FileRefused(reason)
    if _HTML.match(head):
        raise FileRefused(f"is a web page or XML: {_EXPORT}")
    if head.startswith(b"PK"):
        return _named("xlsx", extension, "is a workbook: rename it to end in .xlsx")
    return _named("csv", extension, "is text, not a workbook: rename it to end in .csv")


def _named(found: FileType, extension: str, otherwise: str) -> FileType:
    if extension not in ("csv", "xlsx"):
        raise FileRefused(f"has an unsupported file type; expected .csv or .xlsx: {_EXPORT}")
    if extension != found:
        raise FileRefused(otherwise)
    return found
