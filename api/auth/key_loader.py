"""Loads keys from the event store: all of them once, then the changed ones.

They are read from the claims, not from the read model: no halted projector and no rollback keeps a
revoked key alive. Every change of a key, a plan or an environment increments the store's access
version and is in the log, so changes are found among the events since the last version.
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
"""Rows read at once, so that other tasks are not delayed."""
FAR = 100_000
"""With more events than this since the last look, all keys are read instead."""
PATIENCE = 2.0
"""Seconds until the store counts as unreachable."""
_MARK = """
SELECT version, position, pg_postmaster_start_time() AS since
FROM write_side.access, write_side.head"""
_LIVE = """
SELECT id, workspace, name, secret_hash, permissions, revoked FROM write_side.key_claim
WHERE NOT revoked AND id > $1 ORDER BY id LIMIT $2"""
_SOME = """
SELECT id, workspace, name, secret_hash, permissions, revoked FROM write_side.key_claim
WHERE id = ANY ($1)"""
# By the names of streams, to include event types of newer versions. A workspace's name has no
# effect on access, and renaming does not increment the version.
_CHANGED = """
SELECT originator_id AS stream, count(*) AS events FROM write_side.event
WHERE notification_id > $1 AND notification_id <= $2
  AND (originator_id LIKE 'key/%' OR originator_id LIKE 'workspace/%')
  AND topic NOT LIKE 'workspace.renamed.%'
GROUP BY originator_id"""


class Mark(Struct, frozen=True):
    """The state of the store at one time; ``since``: the start of its server."""

    version: int
    position: int
    since: datetime


class KeyLoader:
    """Keeps ``keys`` up to date. ``fetch`` takes a statement and its parameters."""

    def __init__(self, fetch: Fetch, repository: Repository) -> None:
        self._fetch = fetch
        self._repository = repository
        self._mark: Mark | None = None
        self.keys = Keys()

    async def refresh(self) -> None:
        """Brings ``keys`` up to date with every change before. Raises what ``fetch`` raises."""
        [row] = await self._fetch(_MARK)
        mark, known = Mark(**row), self._mark
        if known is None or not await self._apply_changes(known, mark):
            self.keys = await self._all()
        self._mark = mark

    async def _apply_changes(self, known: Mark, mark: Mark) -> bool:
        """Applies the changes since ``known``. False where the log may not have all of them: after
        a restore or a failover, or a repair that changed claims without events."""
        events = mark.position - known.position
        if mark.since != known.since or mark.version < known.version or not 0 <= events <= FAR:
            return False
        if mark.version == known.version:
            return True
        changed = await self._fetch(_CHANGED, known.position, mark.position)
        await self._reload([row["stream"] for row in changed])
        found: int = sum(row["events"] for row in changed)
        return found == mark.version - known.version

    async def _all(self) -> Keys:
        keys, last = Keys(), ""
        while rows := await self._fetch(_LIVE, last, AT_ONCE):
            await self._put(keys, rows)
            last = rows[-1]["id"]
        return keys

    async def _reload(self, streams: Iterable[str]) -> None:
        names: dict[str, list[str]] = {"workspace": [], "key": []}
        for stream in streams:
            kind, _, name = stream.partition("/")
            names[kind].append(name)
        await self._load_workspaces(self.keys, names["workspace"])
        for ids in _chunks(names["key"]):
            await self._put(self.keys, await self._fetch(_SOME, ids))

    async def _put(self, keys: Keys, rows: Sequence[asyncpg.Record]) -> None:
        new = {row["workspace"] for row in rows if not keys.has_workspace(row["workspace"])}
        await self._load_workspaces(keys, new)
        for row in rows:
            if row["revoked"]:
                keys.remove(row["id"])
            else:
                keys.put(_held(row))

    async def _load_workspaces(self, keys: Keys, slugs: Iterable[str]) -> None:
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
