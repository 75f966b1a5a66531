"""Long operations show progress on a terminal, and nowhere else."""

from __future__ import annotations

import sys

import pytest

from deploy.progress import spinner


@pytest.mark.parametrize("is_terminal", [True, False])
def test_the_spinner_is_shown_only_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, is_terminal: bool
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    with spinner("importing 2,000 rows"):
        pass
    output = capsys.readouterr()
    assert ("importing 2,000 rows" in output.err, output.out) == (is_terminal, "")
