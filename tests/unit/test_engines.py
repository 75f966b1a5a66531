"""The engines that tests run on: their names, and the tests that each leaves out."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engines import ENGINE, ENGINES, Engine, UnknownEngine, engine, engine_named

ROOT = Path(__file__).parents[2]


def test_an_unknown_engine_is_an_error_that_lists_the_engines() -> None:
    with pytest.raises(UnknownEngine, match="unknown engine 'orcale'; expected one of: plain"):
        engine_named("orcale")


def test_the_engine_is_plain_unless_the_variable_names_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(ENGINE, "")
    assert engine() is ENGINES["plain"]
    monkeypatch.setenv(ENGINE, "other")
    with pytest.raises(UnknownEngine):
        engine()


def test_a_test_is_left_out_with_its_reason() -> None:
    class Narrow(Engine):
        left_out = {"tests/a.py::test_one": "needs two"}  # noqa: RUF012

    assert Narrow().reason_to_leave_out("tests/a.py::test_one[x]") == "needs two"
    assert Narrow().reason_to_leave_out("tests/a.py::test_two") is None


def test_every_test_that_an_engine_leaves_out_exists() -> None:
    for test in (test for one in ENGINES.values() for test in one.left_out):
        file, _, name = test.partition("::")
        source = (ROOT / file).read_text()
        assert not name or f"def {name.partition('[')[0]}(" in source, test


def test_a_run_on_an_unknown_engine_fails_before_its_first_test() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "tests/unit/test_engines.py"],
        cwd=ROOT,
        env={**os.environ, ENGINE: "orcale"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == pytest.ExitCode.USAGE_ERROR
    assert "CONTENTLOG_TEST_ENGINE: unknown engine 'orcale'" in run.stderr
