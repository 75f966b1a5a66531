"""Who calls: every key is known in memory, and no answer rests on what is a second old.

A look at the store brings what is known up to date. The store's notifications cause one, so does
half a second without any. A request looks for itself where the last look is a second old, where it
is known to be outdated, and before it is refused: a key that was issued a moment ago is good. So
a key that is missing, empty, unknown or revoked costs the same look, which one takes for all who
wait, and never more than fifty a second.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeAlias

import asyncpg
import structlog

from api.auth.key_loader import PATIENCE, KeyClaims
from api.auth.keys import Caller
from write_side.repository import Repository
from write_side.store.conflicts import StoreUnavailable, passes

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

CHANNEL = "contentlog_access"
TRUSTED = 1.0
"""Seconds for which what a look has found is true enough."""
POLL = 0.5
PACE = 0.02
"""Seconds between the beginnings of two looks."""
RETRY = 0.2
_log = structlog.get_logger("api.access")


class Access:
    """While the store is away, what is known goes on being trusted: no key can be revoked."""

    def __init__(self, url: str, repository: Repository) -> None:
        self._url = url
        self._recorder = repository.recorder
        self._claims = KeyClaims(self._fetch, repository)
        self._listening: Connection | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._next: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()
        self._woken = asyncio.Event()
        self._away = False
        # Moments of our own clock: when the last look began, the last that succeeded, and when
        # the store last said that something has changed.
        self._began = self._looked = self._told = float("-inf")

    async def __aenter__(self) -> Access:
        """Loads all keys. Raises StoreUnavailable."""
        await self._refresh()
        self._start(self._watch(), "access watch")
        self._start(self._listen_for_ever(), "access notifications")
        return self

    async def __aexit__(self, *_: object) -> None:
        ending = list(self._tasks)
        for task in ending:
            task.cancel()
        await asyncio.gather(*ending, return_exceptions=True)

    async def caller(self, secret: str) -> Caller | None:
        """Whose key it is; None for one that is missing, unknown or revoked.

        Raises StoreUnavailable for one that is not known while the store is away.
        """
        digest = _digest(secret)

        def held() -> Caller | None:
            caller = self._claims.keys.caller(digest)
            return caller if secret else None

        found = await self._found(held)
        if secret and found is None and self._away:
            # It may have been issued a moment ago: the store will tell when it is back.
            raise StoreUnavailable("keys cannot be looked for")
        return found

    async def caller_of_key(self, key_id: str) -> Caller | None:
        """The same for a key that somebody has signed in with."""
        found = await self._found(lambda: self._claims.keys.caller_of_key(key_id))
        if found is None and self._away:
            raise StoreUnavailable("keys cannot be looked for")
        return found

    async def _found(self, known: Callable[[], Caller | None]) -> Caller | None:
        """What is known as of now, and nothing of what is not without a look of its own."""
        came = time.monotonic()
        await self._looked_since(max(came - TRUSTED, self._told))
        found = known()
        if found is None:
            await self._looked_since(came)
            found = known()
        return found

    def known(self, secret: str) -> Caller | None:
        """Whose key it is as far as is known, for what is shown and refuses nobody."""
        return self._claims.keys.caller(_digest(secret)) if secret else None

    async def _looked_since(self, moment: float) -> None:
        if self._looked < moment and not self._away:
            await self._look()

    def _look(self) -> Awaitable[None]:
        """One that begins from now on. Whoever waits may give up; the others wait on."""
        if self._next is None:
            self._next = self._start(self._take_turn(), "access look")
        return asyncio.shield(self._next)

    async def _take_turn(self) -> None:
        async with self._turn:
            await asyncio.sleep(max(0.0, self._began + PACE - time.monotonic()))
            # Whoever comes from now on has come too late for this one.
            self._next = None
            try:
                await self._refresh()
            except (StoreUnavailable, TimeoutError) as error:
                if not self._away:
                    _log.warning("the event store is out of reach", fault=repr(error))
                self._away = True

    async def _refresh(self) -> None:
        self._began = began = time.monotonic()
        await self._claims.refresh()
        self._looked, self._away = began, False

    async def _fetch(self, statement: str, *parameters: Any) -> list[asyncpg.Record]:
        """Over a connection that no request can occupy; through the pool where there is none."""
        connection = self._listening
        if connection is not None:
            try:
                async with asyncio.timeout(PATIENCE):
                    return await connection.fetch(statement, *parameters)
            except Exception as error:
                if not passes(error):
                    raise
                connection.terminate()
        async with asyncio.timeout(PATIENCE):
            return await self._recorder.fetch(statement, *parameters)

    async def _watch(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(POLL):
                    await self._woken.wait()
            self._woken.clear()
            try:
                await self._look()
            except Exception as error:
                _log.error("keys cannot be loaded", exc_info=error)

    async def _listen_for_ever(self) -> None:
        told = False
        while True:
            try:
                await self._listen()
                told = False
            except Exception as error:
                if not told:
                    _log.warning("the event store cannot be listened to", fault=repr(error))
                told = True
            await asyncio.sleep(RETRY)

    async def _listen(self) -> None:
        """Until the connection ends."""
        connection = await asyncpg.connect(self._url, timeout=5, command_timeout=5)
        try:
            ended = asyncio.Event()
            connection.add_termination_listener(lambda *_: ended.set())
            await connection.add_listener(CHANNEL, self._hear)
            self._listening = connection
            # Of what was said before we listened.
            self._hear()
            await ended.wait()
        finally:
            self._listening = None
            connection.terminate()

    def _hear(self, *_notification: object) -> None:
        self._told = time.monotonic()
        self._woken.set()

    def _start(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()
