"""The delivery tasks of webhook endpoints while the deliverer ends its session."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from api.webhooks import deliverer as module
from api.webhooks.deliverer import Deliverer


class Recorder:
    async def run(self) -> None:
        await asyncio.Event().wait()


async def test_a_cursor_that_is_moved_at_the_end_starts_no_task(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    endpoint = SimpleNamespace(key=("acme", "search"), off=None)
    started: list[asyncio.Task[Any] | None] = []

    class Task:
        def __init__(self, endpoint: Any, _shared: Any) -> None:
            self.endpoint = endpoint

        async def run(self) -> None:
            started.append(asyncio.current_task())
            try:
                await asyncio.Event().wait()
            finally:
                delivering.restart("acme/search")

    async def mark(_: Any) -> int:
        return 1

    async def webhooks(_: Any) -> list[Any]:
        return [endpoint]

    monkeypatch.setattr(module, "EndpointTask", Task)
    monkeypatch.setattr(module, "webhooks_mark", mark)
    monkeypatch.setattr(module, "webhooks", webhooks)
    shared: Any = SimpleNamespace(recorder=Recorder())
    delivering = Deliverer(shared, shared, SimpleNamespace(on_change=None))  # type: ignore[arg-type]
    async with delivering.running():
        await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert [task is not None and task.done() for task in started] == [True]


@pytest.mark.parametrize("is_listening", [True, False])
async def test_endpoints_look_for_changes_themselves_while_notices_are_lost(
    monkeypatch: pytest.MonkeyPatch, is_listening: bool
) -> None:
    endpoint = SimpleNamespace(key=("acme", "search"), off=None, scope=("acme", "production"))
    woken = []

    class Task:
        def __init__(self, endpoint: Any, _shared: Any) -> None:
            self.endpoint = endpoint

        async def run(self) -> None:
            await asyncio.Event().wait()

        def wake(self) -> None:
            woken.append(self.endpoint.key)

    async def mark(_: Any) -> int:
        return 1

    async def webhooks(_: Any) -> list[Any]:
        return [endpoint]

    monkeypatch.setattr(module, "EndpointTask", Task)
    monkeypatch.setattr(module, "webhooks_mark", mark)
    monkeypatch.setattr(module, "webhooks", webhooks)
    monkeypatch.setattr(module, "POLL", 0.01)
    shared: Any = SimpleNamespace(recorder=Recorder())
    watch: Any = SimpleNamespace(is_listening=is_listening)
    delivering = Deliverer(shared, shared, watch)
    async with delivering.running():
        await delivering.step()
    assert woken == ([] if is_listening else [("acme", "search")])
