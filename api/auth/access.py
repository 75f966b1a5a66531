"""Authenticates callers from keys in memory that are never more than a second out of date.

A refresh reads changed keys from the store, on each notification and every half second. A request
waits for a refresh if the last one is a second old or a notification has arrived since, and before
it is refused, because its key may have just been issued. A missing, empty, unknown, expired or
revoked key therefore costs the same refresh. Requests share refreshes, of which there are at most
fifty a second.

The event store's clock decides whether a key has expired: each refresh reads it, and this process's
monotonic clock counts on from there. All processes therefore agree, even if the clocks of their
machines differ.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

import asyncpg
import structlog

from api.auth.keys import PATIENCE, Caller, KeyLoader, KeyUses
from api.errors import KeysUnavailable
from write_side.domain.workspace import secret_hash
from write_side.postgres.connection import Connection, connect, is_transient
from write_side.postgres.faults import FaultLog
from write_side.repository import Repository
from write_side.store.conflicts import StoreUnavailable
from write_side.waiting import cancel_all, wait_until_set

CHANNEL = "contentlog_access"
VALID = 1.0
"""Seconds for which a refresh is valid."""
POLL = 0.5
PACE = 0.02
"""Seconds between the starts of two refreshes."""
RETRY = 0.2
STARTING = 30.0
"""Seconds that the first load may take: a machine that is starting up is busy."""
CLOSING = 1.0
"""Seconds to record the last uses of keys when the process ends."""
TRUST = 300.0
"""Seconds for which keys are valid without a refresh while the store is unavailable."""
_log = structlog.get_logger("api.access")


class Access:
    """While the store is unavailable, known keys stay valid for five minutes, although they may be
    revoked through another process that can reach it. ``clock``: monotonic seconds. ``holds``:
    whether the read model has a workspace; the keys of others are unknown here."""

    def __init__(
        self,
        url: str,
        repository: Repository,
        clock: Callable[[], float] = time.monotonic,
        holds: Callable[[str], bool] = lambda _: True,
    ) -> None:
        self._url = url
        self._clock = clock
        self._holds = holds
        self._recorder = repository.recorder
        self._uses = KeyUses(self._recorder.fetch)
        self._loader = KeyLoader(self._fetch, repository)
        self._connection: Connection | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._next: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()
        self._wakeup = asyncio.Event()
        self._away = False
        # Times of the start of the last refresh, of the last successful one, and of the last
        # notification.
        self._refresh_start = self._last_refresh = self._last_notification = float("-inf")

    async def __aenter__(self) -> Access:
        """Loads all keys. Raises StoreUnavailable."""
        await self._first_refresh()
        self._start(self._watch(), "access watch")
        self._start(self._keep_listening(), "access notifications")
        self._start(self._uses.run(), "key uses")
        return self

    async def __aexit__(self, *_: object) -> None:
        await cancel_all(*self._tasks)
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSING):
                await self._uses.write()

    async def caller(self, secret: str) -> Caller | None:
        """None for a secret that is missing, unknown, expired or revoked.

        While the store is unavailable, raises StoreUnavailable for an unknown or expired one; after
        five minutes KeysUnavailable for all but a missing one.
        """
        digest = secret_hash(secret)
        return await self._current_caller(lambda: digest, is_given=secret != "")

    def caller_now(self, secret: str) -> Caller | None:
        """Like ``caller``, but never waits: None if ``caller`` would wait or refuse."""
        return self._find(secret_hash(secret)) if secret and self._is_current() else None

    async def caller_of_key(self, key_id: str) -> Caller | None:
        """Like ``caller``, for the key of a dashboard session."""
        return await self._current_caller(lambda: self._loader.keys.digest(key_id), is_given=True)

    async def _current_caller(self, digest: Callable[[], str], *, is_given: bool) -> Caller | None:
        """``digest`` is called again after a refresh, which may have loaded the key."""
        arrived = self._clock()
        if not (self._is_current() or self._away):
            await self._next_refresh()
        if is_given and not self._is_trusted():
            raise KeysUnavailable
        found = self._find(digest())
        if found is None and self._last_refresh < arrived and not self._away:
            await self._next_refresh()
            found = self._find(digest())
        if found is None and is_given and self._away:
            raise StoreUnavailable("keys cannot be refreshed")
        return found if is_given else None

    def cached_caller(self, secret: str) -> Caller | None:
        """The caller as far as this process knows, without a refresh. Do not refuse a request
        because of it."""
        if not secret or not self._is_trusted():
            return None
        return self._find(secret_hash(secret), is_use=False)

    def _find(self, digest: str, *, is_use: bool = True) -> Caller | None:
        now = self.store_time()
        caller = self._loader.keys.caller(digest, now)
        if caller is None or not self._holds(caller.workspace):
            return None
        if is_use:
            self._uses.record(caller.key_id, now.date())
        return caller

    def _is_current(self) -> bool:
        """Whether the last refresh is valid, and no notification has arrived since."""
        return self._last_refresh >= max(self._clock() - VALID, self._last_notification)

    def _is_trusted(self) -> bool:
        return self._clock() - self._last_refresh <= TRUST

    def store_time(self) -> datetime:
        """The current time by the event store's clock."""
        return self._loader.store_time + timedelta(seconds=self._clock() - self._last_refresh)

    def _next_refresh(self) -> Awaitable[None]:
        """A refresh that has not started yet. It continues if one of its waiters is cancelled."""
        if self._next is None:
            self._next = self._start(self._take_turn(), "access refresh")
        return asyncio.shield(self._next)

    async def _take_turn(self) -> None:
        async with self._turn:
            await asyncio.sleep(max(0.0, self._refresh_start + PACE - self._clock()))
            # Requests from now on need the next refresh.
            self._next = None
            try:
                await self._refresh()
            except (StoreUnavailable, TimeoutError) as error:
                if not self._away:
                    _log.warning("the event store cannot be reached", fault=repr(error))
                self._away = True

    async def _first_refresh(self) -> None:
        deadline = self._clock() + STARTING
        while True:
            try:
                return await self._refresh()
            except TimeoutError as error:
                if self._clock() > deadline:
                    raise StoreUnavailable(
                        f"The event store has not responded for {STARTING:.0f} seconds"
                    ) from error

    async def _refresh(self) -> None:
        self._refresh_start = start = self._clock()
        await self._loader.refresh()
        self._last_refresh, self._away = start, False

    async def _fetch(self, statement: str, *parameters: Any) -> list[asyncpg.Record]:
        """Uses the listening connection, which no request uses, or else the pool."""
        connection = self._connection
        if connection is not None:
            try:
                async with asyncio.timeout(PATIENCE):
                    return await connection.fetch(statement, *parameters)
            except Exception as error:
                if not is_transient(error):
                    raise
                connection.terminate()
        async with asyncio.timeout(PATIENCE):
            return await self._recorder.fetch(statement, *parameters)

    async def _watch(self) -> None:
        faults = FaultLog(_log, "keys cannot be loaded")
        while True:
            await wait_until_set(self._wakeup, POLL)
            self._wakeup.clear()
            try:
                await self._next_refresh()
            except asyncpg.PostgresError as error:  # for example while a backup is restored
                faults.add(error)
            except Exception as error:
                _log.error("keys cannot be loaded", exc_info=error)

    async def _keep_listening(self) -> None:
        faults = FaultLog(_log, "cannot listen to the event store")
        while True:
            try:
                await self._listen()
            except Exception as error:
                faults.add(error)
            await asyncio.sleep(RETRY)

    async def _listen(self) -> None:
        """Returns when the connection ends."""
        connection = await connect(self._url, timeout=5, command_timeout=5)
        try:
            ended = asyncio.Event()
            connection.add_termination_listener(lambda *_: ended.set())
            await connection.add_listener(CHANNEL, self._on_notification)
            self._connection = connection
            # There may have been notifications before.
            self._on_notification()
            await ended.wait()
        finally:
            self._connection = None
            connection.terminate()

    def _on_notification(self, *_notification: object) -> None:
        self._last_notification = self._clock()
        self._wakeup.set()

    def _start(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
