"""New changes for listeners, read once for each environment, however many listeners it has.

The projector's notices have the changes, or say where to read them (``CheckpointWatch``), so an
idle environment costs nothing. Changes are filtered in memory, once for all listeners with
the same selection.
"""

from __future__ import annotations

import asyncio
from typing import Any, Protocol

import structlog
from msgspec import Struct

from read_side.changes import END, ChangeRecord, ChangeSelection, changes_after
from read_side.checkpoint import Arrived, CheckpointWatch
from read_side.pool import Pool
from write_side.domain.identity import Scope
from write_side.postgres.faults import FaultLog
from write_side.waiting import cancel

AT_ONCE = 100
"""Changes that are read at a time."""
TURN = 500
"""Listeners that are notified before other tasks run."""
RETRY = 0.2
_EVERYTHING = ChangeSelection()
_log = structlog.get_logger("read_side.change_tail")


class Arrivals(Struct, frozen=True):
    """Changes that can be read now. In ``shared``, a listener keeps what it makes of them, so that
    the others need not make it again."""

    changes: list[ChangeRecord]
    shared: dict[Any, Any]


class Listener(Protocol):
    def arrived(self, arrivals: Arrivals, selected: list[ChangeRecord]) -> None:
        """``selected``: the changes that the listener selects, at least one."""

    def end(self) -> None:
        """The log was restored to an earlier point, and no longer has what was delivered."""


class _Environment(Struct):
    """``position``: up to which changes were delivered. ``last``: the last change up to it.
    ``is_read``: whether the last read found it. Until then, notices are not enough."""

    position: int
    last: ChangeRecord | None
    listeners: dict[ChangeSelection, dict[Listener, None]]
    is_read: bool = False


class ChangeTail:
    """Delivers what a notice has, or reads after the checkpoint has moved.

    While the database is away it tries again, from where it was: nothing is lost or repeated.
    """

    def __init__(self, pool: Pool, watch: CheckpointWatch) -> None:
        self._pool = pool
        self._watch = watch
        self._environments: dict[Scope, _Environment] = {}
        self._changed: dict[Scope, list[ChangeRecord] | None] = {}
        """All changes since an environment was read or delivered; None if it must be read."""
        self._wakeup = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> ChangeTail:
        self._watch.on_change = self._on_change
        self._task = asyncio.create_task(self._run(), name="change tail")
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._task is not None
        await cancel(self._task)

    async def join(self, scope: Scope, selection: ChangeSelection, listener: Listener) -> int:
        """Returns the position from which on changes are delivered. Raises ReadModelUnavailable."""
        if scope not in self._environments:
            page = await changes_after(self._pool, scope, _EVERYTHING, END, 1)
            # Another listener may have been faster.
            self._environments.setdefault(scope, _Environment(page.through, page.previous, {}))
            # Changes made since that read were not announced here.
            self._expect(scope, None)
        environment = self._environments[scope]
        environment.listeners.setdefault(selection, {})[listener] = None
        return environment.position

    def leave(self, scope: Scope, selection: ChangeSelection, listener: Listener) -> None:
        """Does nothing for a listener that has not joined."""
        environment = self._environments.get(scope)
        if environment is None or selection not in environment.listeners:
            return
        environment.listeners[selection].pop(listener, None)
        if not environment.listeners[selection]:
            del environment.listeners[selection]
        if not environment.listeners:
            del self._environments[scope]

    def _on_change(self, changed: Arrived | None) -> None:
        for scope in self._environments if changed is None else changed:
            if scope in self._environments:
                self._expect(scope, None if changed is None else changed[scope])

    def _expect(self, scope: Scope, changes: list[ChangeRecord] | None) -> None:
        waiting = self._changed.setdefault(scope, [])
        if changes is None or waiting is None or len(waiting) > AT_ONCE:
            self._changed[scope] = None
        else:
            waiting.extend(changes)
        self._wakeup.set()

    async def _run(self) -> None:
        faults = FaultLog(_log, "changes cannot be read")
        while True:
            await self._wakeup.wait()
            self._wakeup.clear()
            while self._changed:
                scope = next(iter(self._changed))
                changes = self._changed.pop(scope)
                try:
                    is_last = await self._follow(scope, changes)
                except Exception as error:
                    faults.add(error)
                    await asyncio.sleep(RETRY)
                    is_last = False
                if not is_last:
                    # Behind the others, so that one environment does not delay all.
                    self._expect(scope, None)

    async def _follow(self, scope: Scope, changes: list[ChangeRecord] | None) -> bool:
        """Delivers the next changes; whether there are no more."""
        environment = self._environments.get(scope)
        if environment is None:
            return True
        if changes is None or not environment.is_read:
            return await self._read(scope, environment)
        # A read may have been faster than the notice.
        await self._deliver(environment, [c for c in changes if c.position > environment.position])
        return True

    async def _read(self, scope: Scope, environment: _Environment) -> bool:
        page = await changes_after(self._pool, scope, _EVERYTHING, environment.position, AT_ONCE)
        environment.is_read = False
        if page.through < environment.position:
            # Set back, by a crash of PostgreSQL or a rollback: the same changes will come again.
            return True
        if page.previous != environment.last:
            for listeners in list(environment.listeners.values()):
                for listener in list(listeners):
                    listener.end()
            return True
        environment.is_read = page.is_last
        if page.is_last:
            environment.position = page.through
        await self._deliver(environment, page.changes)
        return page.is_last

    async def _deliver(self, environment: _Environment, changes: list[ChangeRecord]) -> None:
        if not changes:
            return
        environment.last = changes[-1]
        environment.position = max(environment.position, environment.last.position)
        arrivals, notified = Arrivals(changes, {}), 0
        for selection, listeners in list(environment.listeners.items()):
            selected = [one for one in changes if selection.includes(one)]
            for listener in list(listeners) if selected else ():
                listener.arrived(arrivals, selected)
                notified += 1
                if notified % TURN == 0:
                    await asyncio.sleep(0)
