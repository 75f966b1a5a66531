"""CSV as programs write it: any delimiter, quoted line breaks, several encodings."""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from write_side.imports.encodings import ENCODINGS, codec_of, detect, encoding_named
from write_side.imports.escapes import unguard
from write_side.imports.preview import MOST_NOTES, one_line
from write_side.imports.table import (
    DELIMITERS,
    LIMITS,
    NO_CHOICE,
    CellError,
    Choice,
    EncodingSource,
    FileRefused,
    Limits,
    Record,
    Row,
    Table,
    headings_and_rows,
    too_wide,
)

_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_MULTIBYTE = re.compile(rb"[\xc3-\xf4][\x80-\xbf]+")
_SAVE = "save it as CSV UTF-8, or choose its encoding"
_SPACED = (
    "begins with white space, so its quotation marks are part of the text: "
    "delete the white space if they should enclose it"
)
_SAMPLE = 50
_DELIMITER_LINE = re.compile('"?sep=([^"\r\n])"?(?:\r\n|\r|\n)', re.IGNORECASE)
"""The line that tells Excel the delimiter; Excel does not count it as a row."""
_LINE = re.compile("[^\r\n]++(?:\r\n|\r|\n)?|\r\n|\r|\n")
_CTRL_Z = ["\x1a"]
"""The line with which old DOS programs end a file."""
_CELLS = 16_384
"""The columns of a spreadsheet."""


def csv_table(document: bytes, name: str) -> Table:
    """The table of a trusted CSV document, read in this process. Raises FileRefused."""
    try:
        return read_csv(document, name, NO_CHOICE, LIMITS)
    except FileRefused as refused:
        raise FileRefused(f"{name} {refused}") from None


def read_csv(document: bytes, name: str, choice: Choice, limits: Limits) -> Table:
    """The table of a CSV document. Raises FileRefused with what follows the file's name."""
    text, encoding, source = decoded(document, choice.encoding)
    line = _DELIMITER_LINE.match(text)
    delimiter = choice.delimiter or (line[1] if line else _detected_delimiter(text, limits))
    if delimiter not in DELIMITERS.values():
        raise FileRefused(
            f"has columns separated by {delimiter!r}: use a comma, semicolon, tab or bar"
        )
    records = _records(text, delimiter, limits, start=line.end() if line else 0)
    headings, rows = headings_and_rows(records, limits, limits.cell_characters)
    return Table(
        name,
        headings,
        rows,
        encoding=encoding,
        encoding_source=source,
        delimiter=delimiter,
        warnings=tuple(islice(_spaced_quotes(rows), MOST_NOTES)),
    )


def _spaced_quotes(rows: Iterable[Row]) -> Iterator[CellError]:
    """Warnings for cells such as ``, "b"``, whose quotation marks are part of the text."""
    for row in rows:
        for column, cell in enumerate(row.cells):
            if cell[:1] in (" ", "\t") and cell.lstrip()[:1] == '"' == cell[-1]:
                yield CellError(row.number, column, _SPACED)


def decoded(document: bytes, encoding: str | None) -> tuple[str, str, EncodingSource]:
    """The text without byte order mark, and its encoding: by the byte order mark, else UTF-8 if
    valid, else detected. Raises FileRefused."""
    encoding = encoding and encoding_named(encoding)
    if encoding is not None and encoding not in ENCODINGS:
        raise FileRefused(f"cannot be read as {encoding!r}: use one of {', '.join(ENCODINGS)}")
    source: EncodingSource = "chosen"
    if encoding is None:
        encoding, source = _detected(document)
    try:
        text = document.decode(codec_of(encoding))
    except UnicodeDecodeError as error:
        raise _undecodable(document, error, encoding) from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise FileRefused(_zero_byte(line))
    # Programs that join files may write several byte order marks.
    return text.lstrip("\ufeff"), encoding, source


def _detected(document: bytes) -> tuple[str, EncodingSource]:
    if document.startswith(_UTF16):
        return "utf-16", "certain"
    if (at := document.find(b"\0")) >= 0:
        line = document.count(b"\n", 0, at) + 1
        raise FileRefused(f"{_zero_byte(line)}, such as UTF-16")
    try:
        document.decode("utf-8")
    except UnicodeDecodeError as error:
        if document.startswith(codecs.BOM_UTF8) or _is_damaged(document):
            raise _undecodable(document, error, "utf-8") from None
    else:
        return "utf-8", "certain"
    detection = detect(document)
    if detection.encoding is None:
        raise FileRefused(_undetected(detection.likely))
    return detection.encoding, "detected"


def _zero_byte(line: int) -> str:
    return f"is not text: line {line} has a zero byte; {_SAVE}"


def _undetected(likely: Sequence[tuple[str, str]]) -> str:
    among = "; it could be " + "; ".join(
        f"{ENCODINGS[encoding]} ({encoding}): '{one_line(line)}'" for encoding, line in likely
    )
    return (
        "is not in UTF-8, and its encoding cannot be detected for certain"
        f"{among if likely else ''}: {_SAVE} (--encoding, 'Encoding' in the dashboard, "
        "or the part `encoding` over HTTP)"
    )


def _is_damaged(document: bytes) -> bool:
    """Whether it is damaged UTF-8, which would be mojibake in another encoding."""
    replaced = document.decode("utf-8", "replace").count("\ufffd")
    return len(_MULTIBYTE.findall(document)) > replaced


def _undecodable(document: bytes, error: UnicodeDecodeError, encoding: str) -> FileRefused:
    line = document.count(b"\n", 0, error.start) + 1
    return FileRefused(
        f"is not in {encoding.upper()} (line {line}, byte {error.start + 1}): {_SAVE}"
    )


def _detected_delimiter(text: str, limits: Limits) -> str:
    """The delimiter with which the most rows are as wide as the headings.

    Only a delimiter between headings counts: commas in JSON between semicolons do not split it. A
    single column is separated by commas, as every program writes it.
    """
    return max(DELIMITERS.values(), key=lambda delimiter: _fit(text, delimiter, limits))


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
    first_line = first
    try:
        for number, record in enumerate(reader, 1):
            if len(record) > _CELLS:
                raise FileRefused(too_wide(limits))
            first_line = reader.line_num + first
            if record != _CTRL_Z:
                yield number, [unguard(cell) for cell in record]
    except csv.Error as error:
        raise FileRefused(_reason(error, first_line, limits)) from None


def _reason(error: csv.Error, line: int, limits: Limits) -> str:
    match str(error).split()[0]:
        case "field":
            return (
                f"has a cell of more than {limits.cell_characters:,} characters in the row"
                f" that begins in line {line}: shorten it"
            )
        case "unexpected":
            why = "a quotation mark is opened and never closed: close it"
        case _:
            why = (
                "a closing quotation mark is followed by neither a delimiter nor the line's end:"
                " double the quotation marks inside the cell"
            )
    return f"is not valid CSV in line {line}: {why}"
