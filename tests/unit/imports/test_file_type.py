"""A file's type is detected from its content, and its name must agree."""

from __future__ import annotations

import io

import pytest

from tests.workbooks import PARTS, workbook
from write_side.imports.table import LIMITS, NO_CHOICE, Choice
from write_side.imports.worker import Task, answer_to


def refusal(document: bytes, name: str) -> str:
    answer = answer_to(Task(name, NO_CHOICE, LIMITS), io.BytesIO(document))
    assert answer.refusal is not None, answer
    return answer.refusal


@pytest.mark.parametrize(
    ("document", "name", "message"),
    [
        (b"Title\na\n", "a.xlsx", "is text, not a workbook: rename it to end in .csv"),
        (b"", "a.xlsx", "is empty: export or save it again"),
        (workbook(), "a.CSV", "is a workbook: rename it to end in .xlsx"),
        (b"Title\na\n", "a.txt", "has an unsupported file type; expected .csv or .xlsx"),
        (b"Title\na\n", "csv", "has an unsupported file type; expected .csv or .xlsx"),
        (workbook(), "a.xls", "has an unsupported file type; expected .csv or .xlsx"),
        (
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600),
            "a.xlsx",
            "is an old Excel file, .xls, or",
        ),
        (b"%PDF-1.7\n", "a.csv", "is a PDF document"),
        (b"\x89PNG\r\n\x1a\n", "a.xlsx", "is an image"),
        (b"\x1f\x8b\x08", "a.csv", "is compressed"),
        (b"Rar!\x1a\x07\x01\x00", "a.csv", "is compressed"),
        (b"GIF89a\x01\x00", "a.csv", "is an image: import a table"),
        (b"RIFF\x0a\x10\x00\x00WEBPVP8 ", "a.csv", "is an image or a sound"),
        (b"SQLite format 3\x00", "a.csv", "is a database"),
        (b"PAR1\x15\x04\x15", "a.csv", "is a Parquet file"),
        (b"<html><table><tr><td>Title", "a.xls", "is a web page"),
        (b"\xef\xbb\xbf\r\n<!DOCTYPE html>", "a.csv", "is a web page or XML"),
        (b'<?xml version="1.0"?><?mso-application progid="Excel.Sheet"?>', "a.xlsx", "or XML"),
        (b"\0\1\2\3", "a.csv", "is not text: line 1 has a zero byte"),
        ("Title\nÉté".encode("utf-16-le"), "a.csv", "choose its encoding, such as UTF-16"),
        (b"PK\x05\x06" + bytes(18), "a.xlsx", "is a zip archive"),
    ],
)
def test_other_file_types_are_refused_with_what_to_do(
    document: bytes, name: str, message: str
) -> None:
    assert message in refusal(document, name)


@pytest.mark.parametrize(
    ("document", "name", "choice", "message"),
    [
        (
            b"Title\na\n",
            "a.csv",
            Choice(sheet="S"),
            "is a CSV file, which has no sheets: leave the",
        ),
        (workbook(), "a.xlsx", Choice(encoding="utf-8"), "is a workbook, which has no encoding"),
        (
            workbook(),
            "a.xlsx",
            Choice("One", delimiter=";"),
            "which has no delimiter: leave the del",
        ),
    ],
)
def test_a_choice_that_does_not_apply_to_the_file_type_is_refused(
    document: bytes, name: str, choice: Choice, message: str
) -> None:
    answer = answer_to(Task(name, choice, LIMITS), io.BytesIO(document))
    assert message in (answer.unused or "")


@pytest.mark.parametrize("heading", ["PK", "PAR1", "RIFF", "GIF8", "Rar!"])
def test_a_csv_file_may_begin_with_the_letters_of_another_type(heading: str) -> None:
    document = io.BytesIO(f"{heading},Title\n1,a\n".encode())
    answer = answer_to(Task("a.csv", NO_CHOICE, LIMITS), document)
    assert answer.table is not None
    assert answer.table.table.headings == (heading, "Title")


def typed(content_type: str) -> dict[str, str | None]:
    types = PARTS["[Content_Types].xml"]
    return {"[Content_Types].xml": types.replace("spreadsheetml.sheet.main+xml", content_type)}


NONE: dict[str, str | None] = dict.fromkeys(PARTS)
STRICT = PARTS["xl/_rels/workbook.xml.rels"].replace(
    "http://schemas.openxmlformats.org/officeDocument/2006/",
    "http://purl.oclc.org/ooxml/officeDocument/",
)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (
            typed("ms-excel.sheet.macroEnabled.main+xml"),
            "is a workbook with macros, .xlsm",
        ),
        (typed("ms-excel.sheet.binary.macroEnabled.main"), "is a binary workbook, .xlsb"),
        (typed("spreadsheetml.template.main+xml"), "is a template"),
        (typed("wordprocessingml.document.main+xml"), "is a Word document"),
        ({"xl/_rels/workbook.xml.rels": STRICT}, "is a 'Strict Open XML' workbook: save it as"),
        ({**NONE, "mimetype": "application/vnd.oasis.opendocument.spreadsheet"}, "OpenDocument"),
        ({**NONE, "Index/Document.iwa": ""}, "is a Numbers file: export it"),
        (NONE, "is a zip archive: decompress it"),
    ],
)
def test_other_archives_are_named(parts: dict[str, str | None], message: str) -> None:
    assert message in refusal(workbook(parts=parts), "a.xlsx")
