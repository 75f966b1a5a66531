"""Formulas in CSV are escaped without loss, whichever separator the reader uses."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from api.export.table import encoded
from tests.unit.domain.test_text import SCALARS
from write_side.imports.csv_reader import read_csv
from write_side.imports.escapes import guard, unguard
from write_side.imports.table import LIMITS, Choice

TRIGGERS = "=+-@\t\r\n＝＋－＠"
RUN = tuple("=+-@＝＋－＠")
OTHER_SEPARATORS = ";\t|"
texts = st.text(alphabet=st.sampled_from(f"',;|{TRIGGERS} a1\"")) | st.text(SCALARS)


@pytest.mark.parametrize("trigger", TRIGGERS)
def test_formulas_get_an_apostrophe(trigger: str) -> None:
    assert guard(f"{trigger}1+1") == f"'{trigger}1+1"
    assert guard(f"'{trigger}1+1") == f"''{trigger}1+1"


@pytest.mark.parametrize(
    ("text", "guarded"),
    [
        ("ok;=1+1", "ok;'=1+1"),
        ("ok\t=1+1", "ok\t'=1+1"),
        ("ok|@x", "ok|'@x"),
        ("ok\n-1", "ok\n'-1"),
        ("ok\r\n=1", "ok\r\n'=1"),
        ("ok;\"'=1", "ok;'\"'=1"),
        ("ok;'=1;''=2", "ok;''=1;'''=2"),
        ("=1;=2", "'=1;'=2"),
    ],
)
def test_formulas_after_other_separators_get_an_apostrophe(text: str, guarded: str) -> None:
    assert guard(text) == guarded
    assert unguard(guarded) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a=1",
        "'tis",
        "''",
        " =1",
        "1-1",
        "'a'=",
        '"=1"',
        "a,=1",
        "a; =1",
        "a;b",
        "a;'b",
        "a\r\n\r\nb",
        "a\n\tb",
        "[1,-5]",
    ],
)
def test_other_text_is_unchanged(text: str) -> None:
    assert guard(text) == unguard(text) == text


@given(texts)
@example("'=")
@example("''\t")
@example(";';'=")
def test_guarded_text_never_runs_and_is_restored(text: str) -> None:
    assert not guard(text).startswith(tuple(TRIGGERS))
    assert unguard(guard(text)) == text


@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=3))
@example([('x;"=1+1', "a,\n=1"), ("\t=1", ',";=1')])
def test_no_cell_of_a_file_runs_with_any_separator(rows: list[tuple[str, str]]) -> None:
    """The first column is the entry's id, as in an export."""
    document = encoded([("ID", "Title", "Body"), *(("x", *row) for row in rows)])
    table = read_csv(document, "e.csv", Choice(delimiter=","), LIMITS)
    assert [row.cells for row in table.rows] == [("x", *row) for row in rows]
    text = document.decode()
    for separator in OTHER_SEPARATORS:
        for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_NONE):
            file = io.StringIO(text, newline="")
            for row in csv.reader(file, delimiter=separator, quoting=quoting):
                assert not [cell for cell in row if cell.lstrip('"').startswith(RUN)], separator
