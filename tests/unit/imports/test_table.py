"""What is read from a file, and which files are refused."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from write_side.imports.csv_reader import csv_table
from write_side.imports.table import CellError, FileRefused, fingerprint_of


@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_utf8_is_read_with_and_without_bom(bom: bytes) -> None:
    table = csv_table(bom + 'Title,Text\r\nÉté,"a\r\nb, c"\r\n'.encode(), "x.csv")
    assert table.headings == ("Title", "Text")
    assert [(row.number, row.cells) for row in table.rows] == [(2, ("Été", "a\r\nb, c"))]


def test_blank_rows_are_skipped_and_short_ones_padded() -> None:
    table = csv_table(b"Title,Text\n\n , \na\n", "x.csv")
    assert [(row.number, row.cells) for row in table.rows] == [(4, ("a", ""))]


def test_a_table_may_have_two_thousand_rows() -> None:
    whole = b"Title\n" + b"a\n\n" * 2000
    assert len(csv_table(whole, "x.csv").rows) == 2000
    with pytest.raises(FileRefused, match="has 3,376 rows; the limit is 2,000: split it"):
        csv_table(whole + b"a\n \n" * 1376, "x.csv")


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (b"", "has no headings"),
        (b" , \na,b\n", "has no headings"),
        (b"Title\n\x81\n", "cannot be detected for certain; it could be"),
        (b'Title\n"open\n', "is not valid CSV in line 2"),
        (b"Title\na,b; c\n", "in row 2 than headings in row 1.*choose another delimiter"),
        (b'Title,Text\na, "b, c"\n', "quotation marks directly around cells"),
    ],
)
def test_an_unreadable_file_is_refused_with_the_reason(document: bytes, message: str) -> None:
    with pytest.raises(FileRefused, match=message):
        csv_table(document, "x.csv")


def test_the_wording_of_an_error_is_no_part_of_a_file() -> None:
    read = csv_table(b"Title,Body\nA,x\n", "x.csv")
    wrong = {
        (place, reason): fingerprint_of(replace(read, cell_errors=(CellError(2, place, reason),)))
        for place in (0, 1)
        for reason in ("has an error", "is wrong")
    }
    assert wrong[0, "has an error"] == wrong[0, "is wrong"] != wrong[1, "is wrong"]
