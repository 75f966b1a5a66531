"""Deliveries that are stopped while a database is unavailable."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from api.settings import WebhookSettings
from api.webhooks import endpoint_task, process
from api.webhooks.endpoint_task import EndpointTask
from read_side.refusals import ReadModelUnavailable
from tests.unit.api.counter_doubles import settled
from write_side.store.webhook_cursors import MoveRecorder


async def lost(*_: Any) -> None:
    """When it is cancelled, an error replaces the cancellation, as a failed rollback does."""
    try:
        await asyncio.Event().wait()
    finally:
        raise ReadModelUnavailable


async def test_the_process_does_not_restart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_session", lost)
    monkeypatch.setattr(process, "PAUSE", 0)
    await assert_cancelled(process.run_sessions(WebhookSettings("", "")))


async def test_an_endpoint_gets_no_more_deliveries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint_task, "FAULT_PAUSE", 0)
    endpoint: Any = SimpleNamespace(workspace="acme", name="search")
    shared: Any = SimpleNamespace(cursors=SimpleNamespace(open=lost))
    await assert_cancelled(EndpointTask(endpoint, shared).run())


async def test_no_more_outcomes_are_recorded() -> None:
    cursors: Any = SimpleNamespace(record=lost)
    recorder = MoveRecorder(cursors)
    move: Any = SimpleNamespace(endpoint=SimpleNamespace(key=("acme", "search")))
    recording = asyncio.create_task(recorder.record(move))
    await assert_cancelled(recorder.run())
    with pytest.raises(ReadModelUnavailable):
        await recording


async def assert_cancelled(work: Any) -> None:
    task = asyncio.create_task(work)
    await settled()
    task.cancel()
    await settled()
    assert task.cancelled()
