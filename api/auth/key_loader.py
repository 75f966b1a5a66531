"""What the event store says of keys: all of them once, and from then on what has changed.

Read from the claims, not from the read model: a halted projector or a rollback never keeps a
revoked key alive. Every change of a key, a plan or an environment raises the store's access
version, and is in the log; so what is behind a version that moved is found among the events since.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import Any

import asyncpg
from msgspec import Struct

from api.auth.keys import HeldKey, Keys, permissions
from write_side.repository import Repository

Fetch = Callable[..., Awaitable[list[asyncpg.Record]]]

AT_ONCE = 1_000
"""Rows read and taken in before others have their turn."""
FAR = 100_000
"""Events; with more of them since, all keys are read instead."""
PATIENCE = 2.0
"""Seconds until the store counts as out of reach."""
_MARK = """
SELECT version, position, pg_postmaster_start_time() AS since
FROM write_side.access, write_side.head"""
_LIVE = """
SELECT id, workspace, name, secret_hash, permissions, revoked FROM write_side.key_claim
WHERE NOT revoked AND id > $1 ORDER BY id LIMIT $2"""
_SOME = """
SELECT id, workspace, name, secret_hash, permissions, revoked FROM write_side.key_claim
WHERE id = ANY ($1)"""
# By the streams' names: a version of an event that nobody has heard of yet counts too. A name is
# the only thing of a workspace that says nothing of access, and raises no version.
_CHANGED = """
SELECT originator_id AS stream, count(*) AS events FROM write_side.event
WHERE notification_id > $1 AND notification_id <= $2
  AND (originator_id LIKE 'key/%' OR originator_id LIKE 'workspace/%')
  AND topic NOT LIKE 'workspace.renamed.%'
GROUP BY originator_id"""


class Mark(Struct, frozen=True):
    """How far the store was: as of one moment, on one life of its server."""

    version: int
    position: int
    since: datetime


class KeyClaims:
    """Keeps ``keys`` as the store has them. ``fetch`` is given a statement and its parameters."""

    def __init__(self, fetch: Fetch, repository: Repository) -> None:
        self._fetch = fetch
        self._repository = repository
        self._mark: Mark | None = None
        self.keys = Keys()

    async def refresh(self) -> None:
        """Afterwards ``keys`` are no older than the call. Raises what ``fetch`` raises."""
        [row] = await self._fetch(_MARK)
        mark, known = Mark(**row), self._mark
        if known is None or not await self._followed(known, mark):
            self.keys = await self._all()
        self._mark = mark

    async def _followed(self, known: Mark, mark: Mark) -> bool:
        """Takes in what has changed, where the log can tell: not where it may have lost something,
        in a restore or a failover, and not where claims were changed without it, in a repair."""
        events = mark.position - known.position
        if mark.since != known.since or mark.version < known.version or not 0 <= events <= FAR:
            return False
        if mark.version == known.version:
            return True
        changed = await self._fetch(_CHANGED, known.position, mark.position)
        await self._take_changes([row["stream"] for row in changed])
        accounted: int = sum(row["events"] for row in changed)
        return accounted == mark.version - known.version

    async def _all(self) -> Keys:
        keys, last = Keys(), ""
        while rows := await self._fetch(_LIVE, last, AT_ONCE):
            await self._take(keys, rows)
            last = rows[-1]["id"]
        return keys

    async def _take_changes(self, streams: Iterable[str]) -> None:
        names: dict[str, list[str]] = {"workspace": [], "key": []}
        for stream in streams:
            kind, _, name = stream.partition("/")
            names[kind].append(name)
        await self._take_workspaces(self.keys, names["workspace"])
        for ids in _chunks(names["key"]):
            await self._take(self.keys, await self._fetch(_SOME, ids))

    async def _take(self, keys: Keys, rows: Sequence[asyncpg.Record]) -> None:
        new = {row["workspace"] for row in rows if not keys.has_workspace(row["workspace"])}
        await self._take_workspaces(keys, new)
        for row in rows:
            if row["revoked"]:
                keys.remove(row["id"])
            else:
                keys.put(_held(row))

    async def _take_workspaces(self, keys: Keys, slugs: Iterable[str]) -> None:
        for some in _chunks(slugs):
            async with asyncio.timeout(PATIENCE):
                workspaces = await self._repository.workspaces(some)
            for workspace in workspaces:
                keys.put_workspace(workspace)


def _held(row: Any) -> HeldKey:
    return HeldKey(
        row["id"],
        row["name"],
        row["workspace"],
        row["secret_hash"],
        permissions(row["permissions"]),
    )


def _chunks(names: Iterable[str]) -> Iterator[list[str]]:
    rest = iter(names)
    while some := list(islice(rest, AT_ONCE)):
        yield some
