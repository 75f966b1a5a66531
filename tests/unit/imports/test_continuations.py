"""Texts continued on a second sheet: if people edit the file, no text is cut off silently."""

from __future__ import annotations

import io
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import openpyxl
import pytest
from openpyxl.worksheet.worksheet import Worksheet

from api.export.xlsx_file import XlsxFile
from tests.conformance.import_previews import previewed
from write_side.imports.columns import EXPORTED
from write_side.imports.table import LIMITS, NO_CHOICE, Choice, FileRefused, Limits, Table
from write_side.imports.xlsx.continuations import LONGEST, MARKER, SHEET
from write_side.imports.xlsx.workbook import workbook_table

COLUMNS = [*EXPORTED, "Body"]
TEXTS = [letter * size for letter, size in (("a", 100_000), ("b", 40_000), ("c", 3))]
Edit = Callable[[Worksheet, Worksheet], object]


def exported(folder: Path, texts: Sequence[str] = TEXTS) -> bytes:
    path = folder / "e.xlsx"
    file = XlsxFile(path, "posts", COLUMNS)
    file.add(
        [f"id-{n}", f"T{n}", f"s{n}", "draft", *[""] * 4, text] for n, text in enumerate(texts)
    )
    file.close()
    return path.read_bytes()


def edited(document: bytes, edit: Edit) -> bytes:
    """Saves the workbook as a spreadsheet program does, with shared strings."""
    book = openpyxl.load_workbook(io.BytesIO(document))
    edit(book.worksheets[0], book.worksheets[1])
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def table(document: bytes, choice: Choice = NO_CHOICE, limits: Limits = LIMITS) -> Table:
    return workbook_table(io.BytesIO(document), "e.xlsx", choice, limits)


def bodies(found: Table) -> list[str]:
    return [row.cells[8] for row in found.rows]


def shuffled(sheet: Worksheet) -> None:
    rows = [[cell.value for cell in row] for row in sheet.iter_rows(min_row=2)]
    random.Random(1).shuffle(rows)
    for number, row in enumerate(rows, 2):
        for column, value in enumerate(row, 1):
            sheet.cell(number, column).value = value


def test_rows_may_be_sorted_on_both_sheets(tmp_path: Path) -> None:
    def sorted_otherwise(*import_previews: Worksheet) -> None:
        for sheet in import_previews:
            shuffled(sheet)

    document = edited(exported(tmp_path), sorted_otherwise)
    found = table(document)
    assert bodies(found) != TEXTS
    assert sorted(bodies(found)) == TEXTS
    assert not found.cell_errors


def test_notes_beside_the_parts_are_ignored(tmp_path: Path) -> None:
    document = edited(exported(tmp_path), lambda _, second: second.cell(1, 7, "Checked by"))
    assert bodies(table(document)) == TEXTS


def without_second(_: Worksheet, second: Worksheet) -> None:
    book = second.parent
    assert book is not None
    book.remove(second)


SPOILED: list[tuple[Edit, str]] = [
    (without_second, "is continued on the sheet 'Continued texts', which has no text for it"),
    (lambda _, second: second.cell(1, 1, "Id"), "has no text for it"),
    (lambda first, _: first.cell(1, 9, "Text"), "has no text for it"),
    (lambda first, _: first.delete_cols(1), "has no text for it"),
    (lambda first, _: first.cell(2, 1, "id-9"), "has no text for it"),
    (lambda _, second: second.delete_rows(2), "has missing or repeated parts"),
    (lambda _, second: second.delete_rows(4), "has missing or repeated parts"),
    (lambda _, second: second.cell(3, 4, "1 of 3"), "has missing or repeated parts"),
    (lambda _, second: second.cell(3, 4, "x"), "has missing or repeated parts"),
]


@pytest.mark.parametrize(("edit", "reason"), SPOILED)
def test_a_marker_without_its_parts_is_an_error_of_the_cell(
    edit: Edit, reason: str, tmp_path: Path
) -> None:
    found = table(edited(exported(tmp_path), edit))
    error = found.cell_errors[0]
    assert error.row == 2
    assert error.column is not None
    assert found.headings[error.column] in ("Body", "Text")
    assert reason in error.reason


async def test_damaged_continuations_are_not_imported(tmp_path: Path) -> None:
    found = await previewed(table(edited(exported(tmp_path), without_second)))
    assert found.states == ["error", "error", "new"]
    assert found.notes[0][1] == "Body"


async def test_a_cell_that_was_replaced_is_used_with_a_warning(tmp_path: Path) -> None:
    found = table(edited(exported(tmp_path), lambda first, _: first.cell(2, 9, "new")))
    assert bodies(found) == ["new", *TEXTS[1:]]
    shown = await previewed(found)
    assert shown.states == ["new", "new", "new"]
    assert shown.notes == [
        (
            "warning",
            "Body",
            "is used as it is: its continuation on the sheet 'Continued texts' is ignored",
        )
    ]


def test_another_sheet_of_that_name_is_an_ordinary_sheet(tmp_path: Path) -> None:
    def renamed(first: Worksheet, second: Worksheet) -> None:
        second.delete_rows(1, 100)
        second.cell(1, 1, "Title")
        second.cell(2, 1, "x")
        first.cell(2, 9, "a")
        first.cell(3, 9, "b")

    document = edited(exported(tmp_path), renamed)
    assert table(document).sheets == ("posts", SHEET)
    assert bodies(table(document)) == ["a", "b", "ccc"]
    assert table(document, Choice(sheet=SHEET)).headings == ("Title",)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (Limits(text_bytes=120_000), "too much text"),
        (Limits(cells=40), r"too many cells.*\(on the sheet 'Continued texts'\)"),
        (Limits(rows=1), "has 3 rows; the limit is 1"),
        (Limits(cell_characters=99_999), "has more than 99,999 characters in cell I2"),
    ],
)
def test_the_limits_of_a_file_cover_both_sheets(
    limits: Limits, message: str, tmp_path: Path
) -> None:
    with pytest.raises(FileRefused, match=message):
        table(exported(tmp_path), limits=limits)


@pytest.mark.slow
def test_a_continuation_of_many_rows_is_bounded_before_it_is_joined(tmp_path: Path) -> None:
    """Every row refers to the same parts."""

    def copied(first: Worksheet, _: Worksheet) -> None:
        for number in range(3, 200):
            for column in range(1, 10):
                first.cell(number, column, first.cell(2, column).value)

    short = edited(exported(tmp_path, ["a" * 100_000, *TEXTS[1:]]), copied)
    with pytest.raises(FileRefused, match="too much text"):
        table(short)


def test_a_text_that_ends_with_the_marker_needs_its_part(tmp_path: Path) -> None:
    literal = [f"x{MARKER}", "y" * (LONGEST - len(MARKER)) + MARKER]
    assert bodies(table(exported(tmp_path, literal))) == literal
