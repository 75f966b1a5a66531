"""Formulas in CSV: disarmed, and lossless."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from write_side.imports.escapes import guard, unguard

TRIGGERS = "=+-@\t\r\n＝＋－＠"
texts = st.text(alphabet=st.sampled_from(f"'{TRIGGERS} a1\"")) | st.text()


@pytest.mark.parametrize("trigger", TRIGGERS)
def test_what_a_spreadsheet_would_run_begins_with_an_apostrophe(trigger: str) -> None:
    assert guard(f"{trigger}1+1") == f"'{trigger}1+1"
    assert guard(f"'{trigger}1+1") == f"''{trigger}1+1"


@pytest.mark.parametrize("text", ["", "a=1", "'tis", "''", " =1", "1-1", "'a'=", '"=1"'])
def test_other_text_is_left_alone(text: str) -> None:
    assert guard(text) == unguard(text) == text


@given(texts)
@example("'=")
@example("''\t")
def test_guarded_text_runs_nowhere_and_comes_back(text: str) -> None:
    assert not guard(text).startswith(tuple(TRIGGERS))
    assert unguard(guard(text)) == text
