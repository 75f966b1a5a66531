"""Which faults of repeated attempts are logged."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
import structlog
from structlog.testing import capture_logs

from write_side.postgres.connection import PAUSED, LockHolder
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


async def test_a_paused_session_that_does_not_end_is_logged_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, backend = 0.0, 7

    async def fetchval(*_: object) -> int:
        return backend

    clock = SimpleNamespace(monotonic=lambda: now)
    monkeypatch.setattr("write_side.postgres.connection.time", clock)
    holder = LockHolder(cast("Any", SimpleNamespace(fetchval=fetchval)), 1, structlog.get_logger())
    ended = "ended the session of the active process, which was silent"
    stuck = "PostgreSQL's process of that session does not end: restart PostgreSQL"
    for second, process, logged in (
        (0, 7, [(ended, None)]),
        (PAUSED - 1, 7, []),
        (PAUSED + 1, 7, [(stuck, 7)]),
        (PAUSED + 2, 7, []),
        (PAUSED + 3, 8, [(ended, None)]),
    ):
        now, backend = second, process
        with capture_logs() as lines:
            await holder.end_if_paused()
        assert [(line["event"], line.get("pid")) for line in lines] == logged, second
