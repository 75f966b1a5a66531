"""Workbooks as programs write them, and in other valid forms."""

from __future__ import annotations

import io
from collections.abc import Callable
from datetime import date, datetime, time, timedelta

import openpyxl
import pytest
import xlsxwriter
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.workbooks import HEADINGS, PARTS, SHEET, in_column, sheet, strings, workbook
from write_side.imports.escapes import escaped
from write_side.imports.table import (
    LIMITS,
    NO_CHOICE,
    CellError,
    Choice,
    FileRefused,
    Limits,
    Table,
)
from write_side.imports.xlsx.workbook import workbook_table


def table(document: bytes, choice: Choice = NO_CHOICE) -> Table:
    return workbook_table(io.BytesIO(document), "x.xlsx", choice, LIMITS)


def column(*cells: str, **parts: str) -> list[str]:
    """Returns the texts read from cells below one heading."""
    read = table(
        workbook(in_column(*cells), {f"xl/{name}.xml": part for name, part in parts.items()})
    )
    return [row.cells[0] for row in read.rows]


def with_xlsxwriter(fill: Callable[[xlsxwriter.Workbook], None], **options: bool) -> Table:
    file = io.BytesIO()
    with xlsxwriter.Workbook(file, {"in_memory": True, **options}) as book:
        fill(book)
    return table(file.getvalue())


def with_openpyxl(fill: Callable[[openpyxl.Workbook], None]) -> Table:
    book, file = openpyxl.Workbook(), io.BytesIO()
    fill(book)
    book.save(file)
    return table(file.getvalue())


MOMENT = datetime(2026, 1, 31, 9, 30)


@pytest.mark.parametrize("epoch", [1900, 1904])
def test_workbooks_of_xlsxwriter_are_read(epoch: int) -> None:
    def fill(book: xlsxwriter.Workbook) -> None:
        page = book.add_worksheet("Posts")
        day = book.add_format({"num_format": "dd/mm/yyyy"})
        moment = book.add_format({"num_format": "yyyy-mm-dd hh:mm"})
        page.write_row(0, 0, ["Title", "N", "B", "D", "M", "F", "R"])
        page.write_row(1, 0, [" =1\r\n_x000D_ ", 0.1, True])
        page.write_datetime(1, 3, MOMENT.date(), day)
        page.write_datetime(1, 4, MOMENT, moment)
        page.write_formula(1, 5, "=1+1", None, 2)
        page.write_rich_string(1, 6, "a ", book.add_format({"bold": True}), "b ", "c")

    read = with_xlsxwriter(fill, date_1904=epoch == 1904)
    assert (read.sheets, read.sheet, read.epoch) == (("Posts",), "Posts", epoch)
    assert read.rows[0].cells == (
        " =1\r\n_x000D_ ",
        "0.1",
        "true",
        "2026-01-31",
        "2026-01-31T09:30:00",
        "2",
        "a b c",
    )


def test_workbooks_of_openpyxl_are_read() -> None:
    def fill(book: openpyxl.Workbook) -> None:
        page = book.active
        assert page is not None
        page.append(["Title", "N", "B", "D", "M", "T", "I"])
        page.append(["é\n", 5, False, date(2026, 1, 31), MOMENT, time(9, 30), timedelta(hours=26)])
        page.merge_cells("A3:B4")
        page["A3"] = "merged"

    read = with_openpyxl(fill)
    assert [row.cells for row in read.rows] == [
        ("é\n", "5", "false", "2026-01-31", "2026-01-31T09:30:00", "09:30:00", "26:00:00"),
        ("merged", "", "", "", "", "", ""),
    ]


def test_hidden_rows_get_a_warning() -> None:
    def fill(book: openpyxl.Workbook) -> None:
        page = book.active
        assert page is not None
        for row in (["Title"], ["shown"], ["filtered out"], [], ["shown too"]):
            page.append(row)
        page.row_dimensions[3].hidden = page.row_dimensions[4].hidden = True

    [warning] = with_openpyxl(fill).warnings
    assert (warning.row, warning.column) == (3, None)
    assert warning.reason.startswith("The row is hidden in the workbook: delete it there")


def test_the_total_row_of_a_table_gets_a_warning() -> None:
    def fill(book: xlsxwriter.Workbook) -> None:
        columns = [{"header": "Title", "total_string": "Total"}, {"header": "N"}]
        page = book.add_worksheet("Posts")
        page.add_table("A1:B3", {"columns": columns, "data": [["x", 1]], "total_row": True})
        page.write_url("D1", "https://example.com", string="Link")
        page.add_table("F1:G2", {"columns": [{"header": "A"}, {"header": "B"}], "data": [[1, 2]]})

    read = with_xlsxwriter(fill)
    assert [row.cells[0] for row in read.rows] == ["x", "Total"]
    [warning] = read.warnings
    assert (warning.row, warning.column) == (3, None)
    assert warning.reason.startswith("The row has the totals of a table: delete it")


def test_texts_that_look_like_numbers_are_distinguished_from_numbers() -> None:
    def fill(book: xlsxwriter.Workbook) -> None:
        page = book.add_worksheet("Posts")
        page.write_row(0, 0, ["Title", "A", "B", "C", "D"])
        page.write_string(1, 1, " 2026 ")
        page.write_number(1, 2, 2026)
        page.write_formula(1, 3, '="2026"', None, "2026")
        page.write_string(2, 4, "2026-01-31")

    assert sorted(with_xlsxwriter(fill).texts) == [(2, 1), (2, 3)]
    inline = '<row r="2"><c r="A2" t="inlineStr"><is><t>46053</t></is></c></row>'
    assert table(workbook(HEADINGS + inline)).texts == ((2, 0),)


def test_formulas_without_a_value_are_reported() -> None:
    def fill(book: openpyxl.Workbook) -> None:
        assert book.active is not None
        book.active.append(["Title", "Sum"])
        book.active.append(["x", "=1+1"])

    read = with_openpyxl(fill)
    (cell_error,) = read.cell_errors
    assert read.rows[0].cells == ("x", "=1+1")
    assert (cell_error.row, cell_error.column) == (2, 1)
    assert cell_error.reason.startswith("has a formula without a saved value: open and save")


def test_blank_cells_of_merged_ones_are_explained() -> None:
    def fill(book: openpyxl.Workbook) -> None:
        page = book.active
        assert page is not None
        for row in (["Title", "Section", "Note"], ["One", "News"], ["Two"], ["Three", "", "kept"]):
            page.append(row)
        page.merge_cells("B2:C3")
        page.merge_cells("D9:D12")  # outside the table

    read = with_openpyxl(fill)
    assert [row.cells for row in read.rows][:2] == [("One", "News", ""), ("Two", "", "")]
    reason = "is merged with B2: only that cell has a value"
    assert read.warnings == (
        CellError(2, 2, reason),
        CellError(3, 1, reason),
        CellError(3, 2, reason),
    )


@pytest.mark.parametrize("ref", ["", "A2", "B:A", "A0:B0", "A2:ZZZZ9", "B2:A1", "A1:XFD1048576"])
def test_odd_and_huge_merged_ranges_do_not_matter(ref: str) -> None:
    rows = sheet('<row r="1"><c r="A1" t="inlineStr"><is><t>Title</t></is></c></row>')
    merged = f'<mergeCells><mergeCell ref="{ref}"/><mergeCell/></mergeCells>'
    document = workbook(parts={SHEET: rows.replace("</worksheet>", f"{merged}</worksheet>")})
    assert table(document).warnings == ()


def test_a_sheet_is_found_despite_outer_spaces_or_another_unicode_form() -> None:
    book = openpyxl.Workbook()
    book.create_sheet(" Posts ").append(["First"])
    book.create_sheet("Posts").append(["Second"])
    book.create_sheet("Topics ").append(["Third"])
    book.create_sheet("Pre\u0301cis").append(["Fourth"])
    file = io.BytesIO()
    book.save(file)
    for name, heading in (
        (" Posts ", "First"),
        ("Posts", "Second"),
        ("Topics", "Third"),
        ("Précis", "Fourth"),
        ("Pre\u0301cis", "Fourth"),
    ):
        assert table(file.getvalue(), Choice(sheet=name)).headings == (heading,)


def test_the_other_sheets_are_named_if_one_has_no_headings() -> None:
    book = openpyxl.Workbook()
    book.create_sheet("Data").append(["Title"])
    file = io.BytesIO()
    book.save(file)
    with pytest.raises(FileRefused, match=r"no headings: .*, or choose another sheet: Data$"):
        table(file.getvalue())


def test_hidden_sheets_are_listed_and_read_when_chosen() -> None:
    book, file = openpyxl.Workbook(), io.BytesIO()
    assert book.active is not None
    book.active.append(["Secret"])
    book.active.sheet_state = "hidden"
    book.create_sheet("Open & Großes").append(["Title"])
    book.create_chartsheet("Chart")
    book.save(file)
    assert table(file.getvalue()).sheets == ("Sheet", "Open & Großes")
    assert table(file.getvalue()).headings == ("Title",)
    assert table(file.getvalue(), Choice(sheet="Sheet")).headings == ("Secret",)
    with pytest.raises(
        FileRefused, match="has no sheet 'X'; expected one of: Sheet, Open & Großes"
    ):
        table(file.getvalue(), Choice(sheet="X"))


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ("><v>5</v>", "5"),
        (' t="b"><v>1</v>', "true"),
        (' t="b"><v>FALSE</v>', "false"),
        (' s="1"><v>46053</v>', "2026-01-31"),
        (' s="1"><v>46053.5</v>', "2026-01-31T12:00:00"),
        (' s="2"><v>46053</v>', "2026-01-31T00:00:00"),
        (' s="3"><v>0.5</v>', "12:00:00"),
        (' s="3"><v>46053.5</v>', "2026-01-31T12:00:00"),
        (' s="4"><v>1.5</v>', "36:00:00"),
        (' s="1"><v>60</v>', "60"),
        (' s="9"><v>60</v>', "60"),
        (' t="d"><v>2026-01-31T09:30:00Z</v>', "2026-01-31T09:30:00Z"),
        (' t="str"><f>A1</f><v>a_x000D_b</v>', "a\rb"),
        (' t="inlineStr"><is><t>a</t><rPh sb="0" eb="1"><t>reading</t></rPh></is>', "a"),
        (' t="inlineStr"><is><r><t>a </t></r><r><rPr><b/></rPr><t>b</t></r></is>', "a b"),
        (' t="inlineStr"><is><t>_x005F_x000D__x000D_</t></is>', "_x000D_\r"),
        (' t="s"><v>0</v>', "Title"),
        (' t="e"><v>#REF!</v>', "#REF!"),
        ("><f>1/0</f>", "=1/0"),
    ],
)
def test_all_forms_of_cells_are_read(cell: str, text: str) -> None:
    assert column(cell) == [text]


def test_an_error_of_a_formula_says_what_to_do() -> None:
    (cell_error,) = table(workbook(in_column(' t="e"><v>#N/A</v>'))).cell_errors
    assert cell_error.reason == "has the error #N/A: correct its formula or clear the cell"


def test_a_formula_may_have_an_empty_text_for_a_value() -> None:
    assert table(workbook(in_column(' t="str"><f>""</f><v></v>', "><v>1</v>"))).cell_errors == ()


def test_shared_strings_are_joined_without_phonetic_readings() -> None:
    items = (
        "<t>no</t>",
        "<r><t>a </t></r><r><t>b</t></r><rPh sb='0' eb='1'><t>x</t></rPh>",
        "<t/>",
    )
    cells = [f' t="s"><v>{index}</v>' for index in (1, 2, 0)]
    assert column(*cells, sharedStrings=strings(*items)) == ["a b", "no"]


def test_rows_without_numbers_are_numbered() -> None:
    fourth = '<row r="4"><c><v>1</v></c><c r="D4"><v>2</v></c><c><v>3</v></c></row>'
    read = table(workbook(f"{HEADINGS}{fourth}<row/><row><c><v>4</v></c></row>"))
    assert [(row.number, row.cells) for row in read.rows] == [
        (4, ("1", "", "", "2", "3")),
        (6, ("4", "", "", "", "")),
    ]
    assert read.headings == ("Title", "", "", "", "")


def test_other_prefixes_folders_and_missing_styles_are_read() -> None:
    prefixed = (
        sheet(HEADINGS).replace("<", "<x:").replace("<x:/", "</x:").replace("xmlns=", "xmlns:x=")
    )
    rels = PARTS["xl/_rels/workbook.xml.rels"].replace("worksheets/sheet1", "../Elsewhere/S")
    parts = {
        "elsewhere/s.xml": prefixed,
        "xl/_rels/workbook.xml.rels": rels.partition('<Relationship Id="r2"')[0]
        + "</Relationships>",
        "xl/styles.xml": None,
        "xl/sharedStrings.xml": None,
        SHEET: None,
    }
    assert table(workbook(parts=parts)).headings == ("Title",)


def test_dates_since_1904() -> None:
    book = PARTS["xl/workbook.xml"].replace("<workbookPr/>", '<workbookPr date1904="1"/>')
    assert column(' s="1"><v>44591</v>', workbook=book) == ["2026-01-31"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("", "has no headings"),
        ('<row r="2"><c><v>1</v></c></row>', "has no headings"),
        (HEADINGS + "<row><c><v>1</v></c></row>" * 2001, "has 2,001 rows; the limit is 2,000"),
        (
            HEADINGS + '<row><c r="SG2"><v>1</v></c></row>',
            "has cells in column SG: at most 500",
        ),
        (HEADINGS + '<row r="100001"><c><v>1</v></c></row>', "has cells in row 100,001"),
        (
            in_column(f' t="inlineStr"><is><t>{"x" * 32_768}</t></is>'),
            "32,767 characters in cell A2",
        ),
        (in_column("><v>1</v>", "><v>NaN</v>"), "is damaged: cell A3 holds 'NaN', which is not"),
        (HEADINGS + '<row><c r="C2"><v>1E400</v></c></row>', "cell C2 holds '1E400'"),
        (in_column(' t="b"><v>yes</v>'), "cell A2 holds 'yes'"),
    ],
)
def test_refusals_name_the_place(rows: str, message: str) -> None:
    with pytest.raises(FileRefused, match=message):
        table(workbook(rows))


def test_blank_cells_are_counted_too() -> None:
    document = io.BytesIO(workbook(in_column("/><c>", "/><c>")))
    with pytest.raises(FileRefused, match="has too many cells, blank ones included"):
        workbook_table(document, "x.xlsx", NO_CHOICE, Limits(cells=4))


def test_two_thousand_rows_blank_ones_not_counted() -> None:
    blank = '<row><c s="1"/><c t="s"><v>0</v></c></row>'
    rows = HEADINGS + (blank + "<row><c><v>1</v></c></row>") * 2000
    read = table(workbook(rows, {"xl/sharedStrings.xml": strings("<t> </t>")}))
    assert (len(read.rows), read.rows[-1].number) == (2000, 4001)


texts = st.text(alphabet=st.sampled_from("_x005FD \r\n\t\x01é😀<&>\uffff")) | st.text(
    st.characters(exclude_categories=["Cs"])
)


@settings(max_examples=50)
@given(st.lists(texts, min_size=1, max_size=20))
def test_texts_are_preserved(cells: list[str]) -> None:
    def fill(book: xlsxwriter.Workbook) -> None:
        page = book.add_worksheet()
        for row, cell in enumerate(["Title", *(f"t{one}" for one in cells)]):
            page.write_string(row, 0, cell)

    # XlsxWriter does not escape an escape that shares its underscore with the one before.
    cells = [cell.replace("_x", "x") for cell in cells]
    assert [row.cells[0] for row in with_xlsxwriter(fill).rows] == [f"t{one}" for one in cells]


@given(texts)
def test_escaped_texts_are_preserved(text: str) -> None:
    xml = escaped(f"t{text}").replace("&", "&amp;").replace("<", "&lt;")
    assert column(f' t="inlineStr"><is><t>{xml}</t></is>') == [f"t{text}"]


def test_other_elements_than_cells_are_not_read() -> None:
    """Loading the file with openpyxl alone reads these parts and fails."""
    odd = '<fills><fill/></fills><fonts><font><color rgb="x"/></font></fonts></styleSheet>'
    names = '<definedNames><definedName hidden="x"/></definedNames></workbook>'
    parts = {
        "xl/styles.xml": PARTS["xl/styles.xml"].replace("</styleSheet>", odd),
        "xl/workbook.xml": PARTS["xl/workbook.xml"].replace("</workbook>", names),
        SHEET: sheet(HEADINGS).replace("</worksheet>", "<sheetPr tabColor='x'/></worksheet>"),
        "xl/worksheets/_rels/sheet1.xml.rels": "<damaged",
    }
    with pytest.raises((TypeError, ValueError)):
        openpyxl.load_workbook(io.BytesIO(workbook(parts=parts)))
    assert table(workbook(parts=parts)).headings == ("Title",)


def test_dates_in_formats_of_east_asia() -> None:
    styles = PARTS["xl/styles.xml"].replace('numFmtId="14"', 'numFmtId="31"')
    assert column(' s="1"><v>46053</v>', styles=styles) == ["2026-01-31"]
