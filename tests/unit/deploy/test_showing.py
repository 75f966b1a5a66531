"""Work that takes a while says so on a terminal, and nothing where scripts read."""

from __future__ import annotations

import sys

import pytest

from deploy.showing import working


@pytest.mark.parametrize("is_terminal", [True, False])
def test_what_is_being_done_is_shown_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, is_terminal: bool
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    with working("importing 2,000 rows"):
        pass
    told = capsys.readouterr()
    assert ("importing 2,000 rows" in told.err, told.out) == (is_terminal, "")
