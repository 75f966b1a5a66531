"""CSV files as common programs write them."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from write_side.domain.entry import MAX_BYTES
from write_side.imports.csv_reader import read_csv
from write_side.imports.encodings import ENCODINGS
from write_side.imports.escapes import guard
from write_side.imports.table import LIMITS, NO_CHOICE, Choice, FileRefused, Limits, Table


def table(document: bytes, choice: Choice = NO_CHOICE, limits: Limits = LIMITS) -> Table:
    return read_csv(document, "x.csv", choice, limits)


def cells(read: Table) -> list[tuple[str, ...]]:
    return [read.headings, *(row.cells for row in read.rows)]


@pytest.mark.parametrize(
    ("text", "delimiter", "read"),
    [
        ("A,B\n1,2\n", ",", [("A", "B"), ("1", "2")]),
        ("A;B\n1;2\n", ";", [("A", "B"), ("1", "2")]),
        ("A\tB\n1\t2\n", "\t", [("A", "B"), ("1", "2")]),
        ("A|B\r1|2\r", "|", [("A", "B"), ("1", "2")]),
        ("Title\nx\n", ",", [("Title",), ("x",)]),
        ("Title\na;b\n", ",", [("Title",), ("a;b",)]),
        ('A;B\nx;{"a": 1, "b": [2, 3]}\n', ";", [("A", "B"), ("x", '{"a": 1, "b": [2, 3]}')]),
        ('A,B\nx,"{""a"": 1; 2; 3}"\n', ",", [("A", "B"), ("x", '{"a": 1; 2; 3}')]),
        ("Name, full;B\nx;1\ny, z;2\n", ";", [("Name, full", "B"), ("x", "1"), ("y, z", "2")]),
        ('A;B\n"1\n2";3,4\n', ";", [("A", "B"), ("1\n2", "3,4")]),
        ("sep=;\nA,x;B\n1;2\n", ";", [("A,x", "B"), ("1", "2")]),
        ('"sep=\t"\r\nA\tB\r\n1\t2\r\n', "\t", [("A", "B"), ("1", "2")]),
        ("A,B,,\n1,2,,\n", ",", [("A", "B"), ("1", "2")]),
        ("A,,B\n1,2,3\n", ",", [("A", "", "B"), ("1", "2", "3")]),
        ("A,B,\n1,2,3\n", ",", [("A", "B", ""), ("1", "2", "3")]),
        ("A,B\r\n1,2\r\n\x1a", ",", [("A", "B"), ("1", "2")]),
        ("A\r\n1\r\n\x1a\r\n", ",", [("A",), ("1",)]),
        ("A,B\n1,2,,\n", ",", [("A", "B"), ("1", "2")]),
        ("'=A,B\n'=1+1,''=1\n-5,'x\n", ",", [("=A", "B"), ("=1+1", "'=1"), ("-5", "'x")]),
    ],
)
def test_delimiters_are_detected(text: str, delimiter: str, read: list[tuple[str, ...]]) -> None:
    found = table(text.encode())
    assert (found.delimiter, cells(found)) == (delimiter, read)


def test_quotation_marks_after_a_space_are_kept_with_a_warning() -> None:
    read = table(b'Title, Body\n"a", "b"\n"c"," d"\n')
    assert cells(read)[1:] == [("a", ' "b"'), ("c", " d")]
    assert [(each.row, each.column) for each in read.warnings] == [(2, 1)]


def test_a_delimiter_is_chosen() -> None:
    assert cells(table(b"Title\na,b\n", Choice(delimiter=";"))) == [("Title",), ("a,b",)]
    with pytest.raises(FileRefused, match="separated by 'x': use a comma"):
        table(b"A\n", Choice(delimiter="x"))


@pytest.mark.parametrize(
    ("document", "encoding"),
    [
        ("\ufeffÉté".encode(), "utf-8"),
        ("\ufeff\ufeffÉté".encode(), "utf-8"),
        ("Été".encode(), "utf-8"),
        ("Été".encode("utf-16"), "utf-16"),
        (b"\xfe\xff" + "Été".encode("utf-16-be"), "utf-16"),
    ],
)
def test_encodings_are_detected(document: bytes, encoding: str) -> None:
    found = table(document)
    assert (found.encoding, found.headings) == (encoding, ("Été",))


def test_an_encoding_is_chosen() -> None:
    assert table("Заголовок".encode("cp1251"), Choice(encoding="cp1251")).headings == ("Заголовок",)
    assert table("\ufeffTitle".encode(), Choice(encoding="utf-8")).headings == ("Title",)
    with pytest.raises(FileRefused, match=r"is not in UTF-8 .line 2, byte 3.*choose its encoding"):
        table(b"A\n\xe9\n", Choice(encoding="utf-8"))
    with pytest.raises(FileRefused, match="cannot be read as 'rot13': use one of utf-8"):
        table(b"A\n", Choice(encoding="rot13"))


@pytest.mark.parametrize(
    ("name", "encoding"),
    [
        ("utf8", "utf-8"),
        ("UTF-8-SIG", "utf-8"),
        ("Windows-1252", "cp1252"),
        ("latin-1", "cp1252"),
        ("ISO-8859-1", "cp1252"),
        ("iso-8859-9", "cp1254"),
        ("latin9", "iso8859-15"),
        ("macintosh", "mac-roman"),
        ("Shift-JIS", "shift_jis"),
        ("cp932", "shift_jis"),
        ("gbk", "gb18030"),
        *((name, name) for name in ENCODINGS),
    ],
)
def test_an_encoding_may_have_another_common_name(name: str, encoding: str) -> None:
    found = table("Title".encode(encoding), Choice(encoding=name))
    assert (found.encoding, found.headings) == (encoding, ("Title",))


def test_latin_1_is_read_as_in_browsers() -> None:
    assert table(b"\x80 \xe9", Choice(encoding="latin-1")).headings == ("€ é",)


def test_damaged_utf8_is_not_another_encoding() -> None:
    with pytest.raises(FileRefused, match=r"is not in UTF-8 .line 2, byte 12."):
        table("Été\nété ".encode()[:-1] + b"\xff\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'A\n\n"x\n\ny"\n"open\n\n',
            "is not valid CSV in line 6: a quotation mark is opened and never closed: close it",
        ),
        ('A,B\n"x"y,1\n', "is not valid CSV in line 2: a closing quotation mark"),
        ('sep=;\nA;B\n"x"y;1\n', "is not valid CSV in line 3: a closing quotation mark"),
        ("A\nxxxxxxxxxxx\n", "more than 10 characters in the row that begins in line 2"),
        ("A,B,C,D\n", "has more than 3 columns"),
        ("A\n1\n2\n3\n", "has 3 rows; the limit is 2"),
        ("A,B,C\n123456789,123456789,123456789\n", "has too much text"),
    ],
)
def test_refusals_name_the_place(text: str, message: str) -> None:
    with pytest.raises(FileRefused, match=message):
        table(text.encode(), limits=Limits(rows=2, columns=3, cell_characters=10, text_bytes=25))


def test_a_text_as_long_as_an_entry_may_have_is_read() -> None:
    text = "x" * MAX_BYTES
    read = table(f'Title,Body\nLong,"{text}"\n'.encode())
    assert read.rows[0].cells[1] == text


texts = st.text(alphabet=st.sampled_from("a ,;\t|\"'=-\r\né\u2028{}[]0")) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0")
)


@given(st.lists(st.tuples(texts, texts), max_size=4), st.sampled_from(",;\t|"))
def test_written_tables_are_read_back(rows: list[tuple[str, str]], delimiter: str) -> None:
    file = io.StringIO()
    writer = csv.writer(file, delimiter=delimiter, quoting=csv.QUOTE_ALL)
    writer.writerows([map(guard, row) for row in [("Title", "Text"), *rows]])
    read = table(file.getvalue().encode("utf-8-sig"), Choice(delimiter=delimiter))
    assert [row.cells for row in read.rows] == [row for row in rows if "".join(row).strip()]
