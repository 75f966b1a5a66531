"""The deliverer of webhooks, with delivery tasks that send nothing."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from api.webhooks import process as module
from api.webhooks.process import Deliverer


class Recorder:
    async def run(self) -> None:
        await asyncio.Event().wait()


def deliverer(
    monkeypatch: pytest.MonkeyPatch, endpoint: Any, task: type, *, is_listening: bool = True
) -> Deliverer:
    """A deliverer of one endpoint, with this class of delivery tasks."""

    async def mark(_: Any) -> int:
        return 1

    async def webhooks(_: Any) -> list[Any]:
        return [endpoint]

    monkeypatch.setattr(module, "EndpointTask", task)
    monkeypatch.setattr(module, "webhooks_mark", mark)
    monkeypatch.setattr(module, "webhooks", webhooks)
    shared: Any = SimpleNamespace(recorder=Recorder())
    watch: Any = SimpleNamespace(is_listening=is_listening)
    return Deliverer(shared, shared, watch)


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

    delivering = deliverer(monkeypatch, endpoint, Task)
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

    monkeypatch.setattr(module, "POLL", 0.01)
    delivering = deliverer(monkeypatch, endpoint, Task, is_listening=is_listening)
    async with delivering.running():
        await delivering.step()
    assert woken == ([] if is_listening else [("acme", "search")])
