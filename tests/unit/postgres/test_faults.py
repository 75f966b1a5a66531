"""Which faults of repeated attempts are logged."""

from __future__ import annotations

import pytest
import structlog
from structlog.testing import capture_logs

from write_side.postgres.faults import FaultLog


def test_each_fault_is_logged_once_a_minute_even_if_it_alternates_with_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0
    monkeypatch.setattr("write_side.postgres.faults.time.monotonic", lambda: now)
    with capture_logs() as lines:
        log = FaultLog(structlog.get_logger(), "begins again")
        for second in range(62):
            now = second
            log.add("refused" if second % 2 else "reset")
    assert [line["fault"] for line in lines] == ["reset", "refused"] * 2
