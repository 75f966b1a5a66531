"""Exported files: every cell is read back unchanged, and no cell runs as a formula."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Sequence
from pathlib import Path

import openpyxl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from api.export.table import encoded
from api.export.xlsx_file import XlsxFile, is_exact
from tests.unit.domain.test_text import SCALARS
from write_side.domain.cells import Digits
from write_side.imports.columns import EXPORTED
from write_side.imports.table import LIMITS, Choice, Table
from write_side.imports.worker import Task, table_in
from write_side.imports.xlsx.continuations import LONGEST, MARKER
from write_side.imports.xlsx.continuations import SHEET as CONTINUED

COLUMNS = [*EXPORTED, "Body", "Views"]
NASTY = [
    "=1+1",
    "+1",
    "-1",
    "@x",
    "\t=1",
    "\r=1",
    "\n=1",
    "'=x",
    "''=x",
    "'",
    "' ",
    '"',
    '""',
    '"a","b"',
    'a"b',
    "a,b;c\td|e",
    " leading and trailing ",
    "\ttabs\t",
    "lines\nof\r\nthree\rkinds",
    "\r",
    "\n",
    "_x0041_",
    "_x0041_x0042_",
    "_x005F_x0041_",
    "_X000D_",
    "\x01\x08\x0b\x0c\x1f\x7f\x85",
    "\ufffe\uffff\ufeff",
    "<r>x</r>",
    "<r></is></c></row><row><c><is><t>injected</t></is></c></row><row></r>",
    "<&>]]>&amp;",
    "1234567890123456",
    "007",
    "1.10",
    "1e300",
    "TRUE",
    "2026-01-31",
    "#REF!",
    "http://example.com",
    "{=SUM(A1)}",
    "שלום עולם",
    "\u202eright to left",
    "👩\u200d🚀 e\u0301 \U0010ffff",
    "ﬁ ＝1 －1",
    "sep=;",
]
NUMBERS = ["0", "5", "-5", "0.1", "1.10", "-0", "1e300", "1E5", "1e-7", "0.0001", "0.00001",
           "123456789012345", "1234567890123456", "9007199254740993", "0.30000000000000004",
           "123456789.123456", "-0.5", "100000000000000000000000", "1.0", "5e-324"]  # fmt: skip
texts = st.sampled_from(NASTY) | st.text(SCALARS, max_size=12) | st.text("'=_x0041\r\n <r>/")


def row(body: str, views: str = "", title: str = "T") -> list[str]:
    return ["id", title, "slug", "draft", "Posts", "", "", "", body, Digits(views)]


def read(document: bytes, name: str) -> Table:
    return table_in(io.BytesIO(document), Task(name, Choice(), LIMITS))


def of_xlsx(folder: Path, rows: Sequence[Sequence[str]], columns: Sequence[str] = COLUMNS) -> bytes:
    path = folder / "e.xlsx"
    file = XlsxFile(path, "posts", columns)
    file.add(rows)
    file.close()
    return path.read_bytes()


def of_csv(rows: Sequence[Sequence[str]], columns: Sequence[str] = COLUMNS) -> bytes:
    return b"\xef\xbb\xbf" + encoded([columns, *rows])


def cells(table: Table) -> list[list[str]]:
    return [list(one.cells) for one in table.rows]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("xlsx")


@settings(max_examples=15)
@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=5))
@example([(text, text) for text in NASTY])
def test_csv_preserves_every_text(pairs: list[tuple[str, str]]) -> None:
    rows = [row(body, title=title) for body, title in pairs]
    assert cells(read(of_csv(rows), "e.csv")) == rows


@settings(max_examples=15)
@given(pairs=st.lists(st.tuples(texts, texts), min_size=1, max_size=5))
@example(pairs=[(text, text) for text in NASTY])
def test_xlsx_preserves_every_text(folder: Path, pairs: list[tuple[str, str]]) -> None:
    rows = [row(body, title=title) for body, title in pairs]
    assert cells(read(of_xlsx(folder, rows), "e.xlsx")) == rows


@settings(max_examples=15)
@given(numbers=st.lists(st.floats(allow_nan=False, allow_infinity=False).map(repr)
                        | st.decimals(allow_nan=False, allow_infinity=False).map(str)
                        | st.integers().map(str), min_size=1, max_size=20))  # fmt: skip
@example(numbers=NUMBERS)
@example(numbers=["5.7849533491E-10", "1E+15"])
def test_numbers_are_preserved_digit_by_digit(folder: Path, numbers: list[str]) -> None:
    rows = [row("x", number) for number in numbers]
    assert cells(read(of_csv(rows), "e.csv")) == rows
    assert cells(read(of_xlsx(folder, rows), "e.xlsx")) == rows


def test_numbers_are_numeric_cells_if_a_spreadsheet_keeps_their_digits() -> None:
    held = [number for number in NUMBERS if is_exact(number)]
    assert held == ["0", "5", "-5", "0.1", "0.0001", "123456789012345", "123456789.123456", "-0.5"]


def test_headings_are_texts_like_any_other(folder: Path) -> None:
    columns = [*EXPORTED, "=Body", "Title"]
    for document in (of_csv([row("x")], columns), of_xlsx(folder, [row("x")], columns)):
        table = read(document, "e.xlsx" if document[:2] == b"PK" else "e.csv")
        assert list(table.headings) == columns


def test_csv_is_utf_8_with_bom_and_lines_end_with_crlf() -> None:
    document = of_csv([row("=1+1\nx", "-5", title='Ünï, «q»"')])
    assert document.decode() == (
        "\ufeffID,Title,Slug,Status,Content type,Created,Updated,Published,Body,Views\r\n"
        'id,"Ünï, «q»""",slug,draft,Posts,,,,"\'=1+1\nx",-5\r\n'
    )


def test_an_xlsx_contains_strings_and_numbers_and_no_formulas(folder: Path) -> None:
    rows = [row(text, "5", title=text) for text in NASTY]
    document = of_xlsx(folder, rows)
    with zipfile.ZipFile(io.BytesIO(document)) as archive:
        names = archive.namelist()
        sheet = archive.read("xl/worksheets/sheet1.xml").decode()
    assert not [name for name in names if "link" in name.lower() or name.endswith(".bin")]
    assert "<f>" not in sheet
    assert "hyperlink" not in sheet
    assert set(re.findall(r'<c [^>]*?t="(\w+)"', sheet)) == {"inlineStr"}
    assert sheet.count("<row ") == 1 + len(rows)
    assert sheet.count("<v>5</v>") == len(rows)


def test_other_programs_open_it(folder: Path) -> None:
    """openpyxl stands in for other programs. The heading row is frozen; one plain sheet holds the
    rows."""
    book = openpyxl.load_workbook(io.BytesIO(of_xlsx(folder, [row("x", "5"), row("y", "1.10")])))
    [sheet] = book.worksheets
    assert (sheet.title, sheet.freeze_panes) == ("posts", "A2")
    assert [list(values)[-2:] for values in sheet.iter_rows(values_only=True)] == [
        ["Body", "Views"],
        ["x", 5],
        ["y", "1.10"],
    ]


@pytest.mark.parametrize(
    ("slug", "name"),
    [
        ("a" * 40, "a" * 31),
        ("history", "history_"),
        ("continued texts", "continued texts_"),
        ("x", "x"),
    ],
)
def test_a_sheet_has_a_name_that_excel_accepts(folder: Path, slug: str, name: str) -> None:
    file = XlsxFile(folder / "n.xlsx", slug, COLUMNS)
    file.close()
    assert openpyxl.load_workbook(folder / "n.xlsx").sheetnames == [name]


@pytest.mark.parametrize("text", ["x" * LONGEST, "😀" * (LONGEST // 2), "\x01" * LONGEST])
def test_the_longest_texts_of_a_cell_are_preserved(folder: Path, text: str) -> None:
    assert cells(read(of_xlsx(folder, [row(text)]), "e.xlsx")) == [row(text)]


LONG = [
    "x" * (LONGEST + 1),
    "😀" * LONGEST,
    "x" + "😀" * LONGEST,
    "x" * (2 * LONGEST - len(MARKER)) + MARKER,
    "_x0041_\r\n" * LONGEST,
    MARKER,
    f" =1\n{MARKER}",
    " " * (LONGEST + 1),
]


@pytest.mark.parametrize("text", LONG)
def test_a_text_too_long_for_a_cell_is_continued_on_a_second_sheet(folder: Path, text: str) -> None:
    """This also holds for columns with equal headings and for rows after the first."""
    columns = [*COLUMNS[:-1], "Body"]
    rows = [[*row(text, title="A")[:-1], ""], [*row("x", title="B")[:-1], text]]
    rows[1][0] = "other id"
    document = of_xlsx(folder, rows, columns)
    table = read(document, "e.xlsx")
    assert cells(table) == rows
    assert (table.sheets, table.cell_errors, table.warnings) == (("posts",), (), ())
    book = openpyxl.load_workbook(io.BytesIO(document))
    assert book.sheetnames == ["posts", CONTINUED]
    written = [one for sheet in book for each in sheet.iter_rows(values_only=True) for one in each]
    longest = max(len(str(one).encode("utf-16-le", "surrogatepass")) // 2 for one in written)
    assert longest <= LONGEST or "_x" in text, "openpyxl counts escapes as they are written"
    assert cells(read(of_csv(rows, columns), "e.csv")) == rows


@settings(max_examples=15)
@given(
    start=st.integers(LONGEST - len(MARKER) - 3, LONGEST + 3),
    middle=texts,
    end=st.sampled_from(["", MARKER, MARKER[1:], f"{MARKER} ", "😀"]),
)
def test_texts_near_the_maximum_length_are_preserved(
    folder: Path, start: int, middle: str, end: str
) -> None:
    rows = [row("y" * start + middle + end)]
    assert cells(read(of_xlsx(folder, rows), "e.xlsx")) == rows
