"""How .xlsx files escape text, and how libraries read the escapes."""

from __future__ import annotations

import io
import re
import zipfile

import openpyxl
import pytest
import xlsxwriter
from hypothesis import example, given
from hypothesis import strategies as st

from write_side.imports.escapes import escaped, unescaped

texts = st.text(alphabet=st.sampled_from("_xX005FfdD8cC\r\n\t\x00\x1f\uffff😀")) | st.text()


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a\r\nb\tc", "a_x000D_\nb\tc"),
        ("\x00\x1f\ufffe\uffff", "_x0000__x001F__xFFFE__xFFFF_"),
        ("_x000D_", "_x005F_x000D_"),
        ("_x0041_x0042_", "_x005F_x0041_x005F_x0042_"),
        ("_x0041\r", "_x005F_x0041_x000D_"),
        ("_x000_ _X000D_ x000D_", "_x000_ _X000D_ x000D_"),
        ("é😀", "é😀"),
    ],
)
def test_escapes(text: str, written: str) -> None:
    assert escaped(text) == written
    assert unescaped(written) == text


def test_surrogates_are_read_only_in_pairs() -> None:
    assert unescaped("_xD83D__xDE00_ _xd83d_ _xDE00__xD83D_") == "😀 _xd83d_ _xDE00__xD83D_"


@given(texts)
@example("_x005F_x000D_")
@example("__x005F__x000D_")
@example("_x0041\r_x0041\uffff")
def test_every_text_is_preserved_and_valid_xml(text: str) -> None:
    written = escaped(text)
    assert unescaped(written) == text
    assert not re.search("[\x00-\x08\x0b-\x1f\ufffe\uffff]", written)


def in_workbook(text: str, **options: bool) -> str:
    """Returns the raw text that XlsxWriter writes for one cell."""
    file = io.BytesIO()
    with xlsxwriter.Workbook(file, {"in_memory": True, **options}) as workbook:
        workbook.add_worksheet().write_string(0, 0, text)
    with zipfile.ZipFile(file) as archive:
        parts = b"".join(map(archive.read, archive.namelist())).decode()
    found = re.search("<t(?: [^>]*)?>([^<]*)</t>", parts)
    assert found is not None
    return found[1]


@pytest.mark.parametrize("options", [{}, {"constant_memory": True}])
def test_xlsxwriter_escapes_on_its_own(options: dict[str, bool]) -> None:
    for text in ("a\r\nb", "_x000D_", "\x01\uffff"):
        assert in_workbook(text, **options) == escaped(text)
    # If two escapes share an underscore, the second is not escaped and would be decoded.
    assert in_workbook("_x0041_x0042_", **options) == "_x005F_x0041_x0042_"


def test_openpyxl_does_not_distinguish_an_escape_from_its_literal() -> None:
    file = io.BytesIO()
    with xlsxwriter.Workbook(file, {"in_memory": True}) as workbook:
        workbook.add_worksheet().write_row(0, 0, ["_x000D_", "\r"])
    cells = openpyxl.load_workbook(file).active
    assert cells is not None
    assert [cell.value for cell in cells[1]] == ["_x000D_", "_x000D_"]
