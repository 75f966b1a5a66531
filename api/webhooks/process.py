"""The process `contentlog webhooks`: one is active, others stand by and take over.

The active one holds a session lock in the event store's database. If it loses the connection, it
stops delivering. A standby ends the session of a process that is paused or cut off. When that one
resumes, it sends nothing, because its lease has expired, and cannot move a cursor, because that is
not where it knows it to be.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import asyncpg
import structlog

from api.rest.tokens import ChangeTokens
from api.settings import WebhookSettings
from api.webhooks.endpoint_task import DeliveryContext, DeliveryLimits, EndpointTask, Lease
from api.webhooks.message import FeedChanges
from api.webhooks.sender import open_sender
from read_side.checkpoint import Arrived, CheckpointWatch, fetch_checkpoint
from read_side.lookups import WebhooksMark, webhooks, webhooks_mark
from read_side.pool import Pool, open_pool
from read_side.refusals import ReadModelUnavailable
from write_side.commands import SwitchWebhookOff
from write_side.dispatch import execute
from write_side.domain.identity import Actor
from write_side.domain.refusals import Refused
from write_side.domain.webhook import Name, Webhook
from write_side.postgres.connection import (
    MIGRATE,
    Connection,
    LockHolder,
    connect,
    connected,
    is_transient,
    try_lock,
)
from write_side.postgres.faults import FaultLog
from write_side.process_state import ProcessState
from write_side.repository import Repository
from write_side.store.access import token_key
from write_side.store.conflicts import StoreUnavailable
from write_side.store.mapper import EventMapper
from write_side.store.recorder import open_recorder
from write_side.store.webhook_cursors import ACTIVE_LOCK, CHANNEL, Cursors, MoveRecorder
from write_side.waiting import cancel, cancel_all, raise_if_cancelled, wait_until_set

STANDBY = 0.25
ALIVE_EVERY = 1.0
PATIENCE = 5.0
"""Seconds until a connection on which the database does not respond is given up."""
PAUSE = 0.5
POLL = 1.0
ACTOR = Actor("operator", "contentlog webhooks")
_ALIVE = "SELECT 1"
_TRANSIENT = (StoreUnavailable, ReadModelUnavailable, asyncpg.UndefinedTableError)
_log = structlog.get_logger("api.webhooks")


class Deliverer:
    """Delivers the changes of all endpoints, while this process is the active one.

    There is a task for each endpoint that is on. It sleeps until a change arrives in its
    environment, so that idle endpoints cost no queries.
    """

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


async def run_sessions(settings: WebhookSettings, state: ProcessState | None = None) -> None:
    """Delivers until it is cancelled, in one session after another; begins again after transient
    faults. It may be killed at any point: nothing is lost."""
    state = state or ProcessState()
    faults = FaultLog(_log, "begins again")
    while True:
        try:
            await _session(settings, state)
        except Exception as error:
            raise_if_cancelled(error)
            if not is_transient(error) and not isinstance(error, _TRANSIENT):
                raise
            is_missing = isinstance(error, asyncpg.UndefinedTableError)
            faults.add(MIGRATE if is_missing else error)
        await asyncio.sleep(PAUSE)


async def _session(settings: WebhookSettings, state: ProcessState) -> None:
    lease = Lease()
    async with _lock(settings.event_store_url, state) as store:
        keeping = asyncio.create_task(_keep(store, lease, state), name="webhook lease")
        try:
            opening = connected(settings.read_model_url, timeout=PATIENCE, command_timeout=PATIENCE)
            async with opening as model:
                # Otherwise each reader would log that the read model is missing.
                await fetch_checkpoint(model)
            async with open_deliverer(settings, lease, store) as deliverer:
                _log.info("webhooks are active")
                while not keeping.done():
                    await deliverer.step()
            await keeping
        finally:
            keeping.cancel()


async def _keep(store: Connection, lease: Lease, state: ProcessState) -> None:
    """Confirms the lease until the connection is lost. Without these statements, a standby would
    end the session."""
    while not store.is_closed():
        began = time.monotonic()
        await store.execute(_ALIVE)
        lease.renew(began)
        state.report("active")
        await asyncio.sleep(ALIVE_EVERY)


@asynccontextmanager
async def _lock(url: str, state: ProcessState) -> AsyncIterator[Connection]:
    """A connection that holds the lock; waits for it."""
    connection = await connect(
        url,
        timeout=PATIENCE,
        command_timeout=PATIENCE,
        server_settings={"application_name": "contentlog webhooks"},
    )
    try:
        holder = LockHolder(connection, ACTIVE_LOCK, _log)
        while not await try_lock(connection, ACTIVE_LOCK):
            await holder.end_if_paused()
            state.report("standby")
            await asyncio.sleep(STANDBY)
        yield connection
    finally:
        # Ends the session, and with it the lock.
        connection.terminate()


@asynccontextmanager
async def open_deliverer(
    settings: WebhookSettings, lease: Lease, store: Connection
) -> AsyncIterator[Deliverer]:
    """A deliverer that is running, on connections of its own. ``store``: the connection that holds
    the lock."""
    async with (
        open_recorder(settings.pooled_event_store) as recorder,
        open_pool(settings.pooled_read_model) as read_model,
        CheckpointWatch(settings.read_model_url) as watch,
        open_sender(settings.networks) as sender,
    ):
        cursors = Cursors(recorder.fetch)
        shared = DeliveryContext(
            changes=FeedChanges(read_model, ChangeTokens(await token_key(recorder.fetch))),
            cursors=cursors,
            recorder=MoveRecorder(cursors),
            sender=sender,
            switch_off=partial(_switch_off, Repository(recorder, EventMapper())),
            limits=DeliveryLimits(),
            lease=lease,
            cause=recorder.traceparent,
        )
        deliverer = Deliverer(shared, read_model, watch)
        # Before its tasks read the cursors, so that no replay in between is missed.
        await store.add_listener(CHANNEL, deliverer.restart)
        async with deliverer.running():
            yield deliverer


async def _switch_off(repository: Repository, endpoint: Webhook, reason: str) -> None:
    command = SwitchWebhookOff(
        actor=ACTOR,
        workspace=endpoint.workspace,
        name=endpoint.name,
        reason=reason,
        changed_at=endpoint.changed_at,
    )
    # It may have been removed.
    with contextlib.suppress(Refused):
        await execute(command, repository)
