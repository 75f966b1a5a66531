"""Who calls: API keys and what their workspaces may do, known in memory, never longer than true.

Read from the event store's claims, not from the read model: a halted projector or a rollback
never keeps a revoked key alive. Every change of a key, plan or environment raises the store's
access version; its notification empties this cache, and a look each second does besides. Where
that look has not succeeded for a while, requests look for themselves.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import time
from collections import OrderedDict

import asyncpg
import structlog
from msgspec import Struct

from write_side.domain.events import Plan
from write_side.repository import Repository
from write_side.store.conflicts import StoreUnavailable

REMEMBERED = 10_000
POLL = 1.0
TRUSTED = 2.0
"""Seconds since the last look for which what is known is true enough."""
_KEY = """
SELECT id, workspace, name, secret_hash, permissions FROM write_side.key_claim
WHERE secret_hash = $1 AND NOT revoked"""
_VERSION = "SELECT version FROM write_side.access"
_log = structlog.get_logger("api.access")


class Caller(Struct, frozen=True):
    """A live key and its workspace."""

    key_id: str
    key_name: str
    workspace: str
    permissions: frozenset[str]
    plan: Plan
    environments: tuple[str, ...]


class Access:
    def __init__(self, url: str, repository: Repository) -> None:
        self._url = url
        self._repository = repository
        self._known: OrderedDict[str, Caller | None] = OrderedDict()
        self._version: int | None = None
        self._looked = -TRUSTED
        self._looking = asyncio.Lock()
        self._changes = 0
        self._watching: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Access:
        self._watching = asyncio.create_task(self._watch(), name="access watch")
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._watching is not None
        self._watching.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._watching

    async def caller(self, secret: str) -> Caller | None:
        """Whose key it is; None for an unknown or revoked one."""
        digest = hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()
        if time.monotonic() - self._looked > TRUSTED:
            await self._look()
        if digest in self._known:
            self._known.move_to_end(digest)
            return self._known[digest]
        changes = self._changes
        caller = await self._load(digest)
        # What was read may have been changed meanwhile: then it is not remembered.
        if changes == self._changes:
            self._known[digest] = caller
            if len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        return caller

    async def _load(self, digest: str) -> Caller | None:
        rows = await self._repository.recorder.fetch(_KEY, digest)
        if not rows or not hmac.compare_digest(rows[0]["secret_hash"], digest):
            return None
        row = rows[0]
        workspace = await self._repository.workspace(row["workspace"])
        return Caller(
            key_id=row["id"],
            key_name=row["name"],
            workspace=row["workspace"],
            permissions=frozenset(row["permissions"]),
            plan=workspace.plan,
            environments=workspace.environments,
        )

    async def _look(self) -> None:
        """Ask for the version through the pool: the watching connection alone may be refused.

        Where the whole store is away, what is known goes on being trusted: no key can be revoked.
        """
        async with self._looking:
            if time.monotonic() - self._looked <= TRUSTED:
                return
            try:
                async with asyncio.timeout(POLL):
                    [row] = await self._repository.recorder.fetch(_VERSION)
            except (StoreUnavailable, TimeoutError):
                self._looked = time.monotonic() - TRUSTED + POLL
            else:
                self._saw(row["version"])

    def _saw(self, version: int) -> None:
        if version != self._version:
            self._forget()
            self._version = version
        self._looked = time.monotonic()

    def _forget(self, *_notification: object) -> None:
        self._changes += 1
        self._known.clear()

    async def _watch(self) -> None:
        while True:
            try:
                await self._listen()
            except Exception as error:
                _log.warning("the event store is out of reach", fault=repr(error))
                await asyncio.sleep(0.2)

    async def _listen(self) -> None:
        connection = await asyncpg.connect(self._url, timeout=5)
        try:
            await connection.add_listener("contentlog_access", self._forget)
            while True:
                version = await connection.fetchval(_VERSION, timeout=5)
                self._saw(version)
                await asyncio.sleep(POLL)
        finally:
            connection.terminate()
