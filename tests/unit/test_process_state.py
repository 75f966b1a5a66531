"""The state that a process reports to health probes."""

from __future__ import annotations

import time

import pytest

from write_side.process_state import SILENT, ProcessState


def test_a_process_is_ready_once_a_database_has_confirmed_its_role() -> None:
    state = ProcessState()
    assert state.fault == "it has not reached its databases yet"
    for role in ("standby", "active"):
        state.report(role)
        assert state.fault is None


def test_a_halted_process_says_why() -> None:
    state = ProcessState()
    state.report("halted", "events are missing")
    assert state.fault == "it has halted: events are missing"


def test_a_process_whose_databases_are_silent_is_not_ready(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    state = ProcessState()
    state.report("active")
    later = time.monotonic() + SILENT + 5
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert state.fault is not None
    assert state.fault.startswith("a database does not respond, for 1")
