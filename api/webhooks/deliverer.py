"""Delivers the changes of all endpoints, while this process is the active one.

There is a task for each endpoint that is on. It sleeps until a change arrives in its environment,
so that idle endpoints cost no queries.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import structlog

from api.webhooks.endpoint_task import DeliveryContext, EndpointTask
from read_side.checkpoint import Arrived, CheckpointWatch
from read_side.pool import Pool
from read_side.webhooks import WebhooksMark, webhooks, webhooks_mark
from write_side.domain.webhook import Name, Webhook
from write_side.waiting import cancel, cancel_all, wait_until_set

POLL = 1.0
_log = structlog.get_logger("api.webhooks")


class Deliverer:
    def __init__(self, shared: DeliveryContext, read_model: Pool, watch: CheckpointWatch) -> None:
        self._shared = shared
        self._read_model = read_model
        self._watch = watch
        self._changed = asyncio.Event()
        self._tasks: dict[Name, tuple[EndpointTask, asyncio.Task[None]]] = {}
        self._mark: WebhooksMark | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """The tasks of the endpoints end with the block."""
        recording = asyncio.create_task(self._shared.recorder.run(), name="webhook outcomes")
        try:
            self._watch.on_change = self._on_change
            await self._update_endpoints()
            yield
        finally:
            running = [recording, *(running for _, running in self._tasks.values())]
            # First, or a restart would start them again while they end.
            self._tasks.clear()
            await cancel_all(*running)

    def _on_change(self, changed: Arrived | None) -> None:
        """Wakes the tasks of the environments that have changed; None: of all."""
        for task, _ in self._tasks.values():
            if changed is None or task.endpoint.scope in changed:
                task.wake()
        self._changed.set()

    async def step(self) -> None:
        """Waits for a change, or POLL seconds, and follows the endpoints. Raises
        ReadModelUnavailable."""
        if not await wait_until_set(self._changed, POLL) and not self._watch.is_listening:
            # The notices of changes are lost, but the pool may still reach the read model.
            self._on_change(None)
        self._changed.clear()
        await self._update_endpoints()

    def restart(self, *notification: Any) -> None:
        """The cursor of the named endpoint was moved from outside: its task reads it again."""
        workspace, _, name = notification[-1].partition("/")
        found = self._tasks.get((workspace, name))
        if found is not None:
            task, running = found
            running.cancel()
            self._start(task.endpoint)

    def _start(self, endpoint: Webhook) -> None:
        fresh = EndpointTask(endpoint, self._shared)
        name = f"webhook {'/'.join(endpoint.key)}"
        self._tasks[endpoint.key] = fresh, asyncio.create_task(fresh.run(), name=name)

    async def _update_endpoints(self) -> None:
        mark = await webhooks_mark(self._read_model)
        if mark == self._mark:
            return
        endpoints = await webhooks(self._read_model)
        wanted = {endpoint.key: endpoint for endpoint in endpoints if endpoint.off is None}
        for key in [
            key for key, (task, _) in self._tasks.items() if wanted.get(key) != task.endpoint
        ]:
            _, running = self._tasks.pop(key)
            # An endpoint must not have two tasks at once.
            await cancel(running)
        for key, endpoint in wanted.items():
            if key not in self._tasks:
                self._start(endpoint)
        self._mark = mark
