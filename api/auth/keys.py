"""All live keys of the installation in memory, with the plans of their workspaces, and the days of
their use."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime

import structlog
from msgspec import Struct

from write_side.domain.events import Plan
from write_side.domain.workspace import Workspace
from write_side.postgres.connection import Fetch
from write_side.postgres.faults import FaultLog
from write_side.repository import Repository
from write_side.store import access
from write_side.store.access import KeyClaim
from write_side.waiting import chunks

AT_ONCE = 1_000
"""Keys read at a time, so that other tasks are not delayed."""
FAR = 100_000
"""If there are more events than this since the last refresh, all keys are read again."""
PATIENCE = 2.0
"""Seconds until the store counts as unreachable."""
INTERVAL = 10.0
"""Seconds between two writes of the days on which keys were used."""
_log = structlog.get_logger("api.key_uses")


class Caller(Struct, frozen=True, cache_hash=True, gc=False):
    """A live key and its workspace. ``environment``: the only one in which the key works, None for
    all; ``environments``: those of the workspace."""

    key_id: str
    key_name: str
    workspace: str
    permissions: frozenset[str]
    plan: Plan
    environments: tuple[str, ...]
    environment: str | None = None


def has_key(headers: Mapping[str, str]) -> bool:
    """Whether a key is given, even an empty one."""
    scheme = headers.get("Authorization", "").strip().partition(" ")[0]
    return scheme.lower() == "bearer" or "X-API-Key" in headers


def secret_of(headers: Mapping[str, str]) -> str:
    """``Authorization: Bearer`` takes precedence over ``X-API-Key`` (behaviour.md). Other schemes
    do not, because a proxy in front of the service may use HTTP Basic."""
    scheme, _, secret = headers.get("Authorization", "").strip().partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else headers.get("X-API-Key", "")


# Unknown keys are compared with this one, so that they take as long as known ones.
NO_KEY = KeyClaim("", "", "", "0" * 64, frozenset())


class Keys:
    def __init__(self) -> None:
        self._by_digest: dict[str, KeyClaim] = {}
        self._digests: dict[str, str] = {}
        self._workspaces: dict[str, Workspace] = {}
        # Made from both when a key is used, until either changes.
        self._callers: dict[str, Caller] = {}

    def caller(self, digest: str, now: datetime) -> Caller | None:
        """The caller whose key has the digest, compared in constant time. None if the key has
        expired at ``now``."""
        key = self._by_digest.get(digest, NO_KEY)
        if not hmac.compare_digest(key.digest, digest):
            return None
        if key.expires_at is not None and key.expires_at <= now:
            return None
        return self._callers.get(digest) or self._callers.setdefault(digest, self._caller(key))

    def digest(self, key_id: str) -> str:
        """The digest of a live key's secret; "" if there is none with this id."""
        return self._digests.get(key_id, "")

    def has_workspace(self, slug: str) -> bool:
        return slug in self._workspaces

    def put_workspace(self, workspace: Workspace) -> None:
        """Call this before ``put`` for the workspace's keys."""
        self._workspaces[workspace.slug] = workspace
        self._callers.clear()

    def put(self, key: KeyClaim) -> None:
        self._by_digest[key.digest] = key
        self._callers.pop(key.digest, None)
        self._digests[key.id] = key.digest

    def remove(self, key_id: str) -> None:
        """Removes a revoked key; another key may have its secret now."""
        digest = self._digests.pop(key_id, "")
        if self._by_digest.get(digest, NO_KEY).id == key_id:
            del self._by_digest[digest]
            self._callers.pop(digest, None)

    def _caller(self, key: KeyClaim) -> Caller:
        workspace = self._workspaces[key.workspace]
        return Caller(
            key_id=key.id,
            key_name=key.name,
            workspace=key.workspace,
            permissions=key.permissions,
            plan=workspace.plan,
            environments=workspace.environments,
            environment=key.environment,
        )


class KeyLoader:
    """Keeps ``keys`` up to date: loads all of them once, then the changed ones.

    Every change increments the store's access version and is in the log, so changes are found among
    the events since the last version.
    """

    def __init__(self, fetch: Fetch, repository: Repository) -> None:
        self._fetch = fetch
        self._repository = repository
        self._mark: access.Mark | None = None
        self.keys = Keys()
        self.store_time: datetime
        """The event store's time at the last refresh."""

    async def refresh(self) -> None:
        """Applies every change so far to ``keys``. Raises what ``fetch`` raises."""
        mark, known = await access.mark(self._fetch), self._mark
        if known is None or not await self._apply_changes(known, mark):
            self.keys = await self._all()
        self._mark, self.store_time = mark, mark.now

    async def _apply_changes(self, known: access.Mark, mark: access.Mark) -> bool:
        """Applies the changes since ``known``. False if the log may not have all of them: after a
        restore, a failover, or a repair that changed claims without events."""
        events = mark.position - known.position
        if mark.since != known.since or mark.version < known.version or not 0 <= events <= FAR:
            return False
        if mark.version == known.version:
            return True
        changed = await access.changed_streams(self._fetch, known.position, mark.position)
        await self._reload(changed)
        return sum(changed.values()) == mark.version - known.version

    async def _all(self) -> Keys:
        keys, last = Keys(), ""
        while claims := await access.live_keys(self._fetch, last, AT_ONCE):
            await self._put(keys, claims)
            last = claims[-1].id
        return keys

    async def _reload(self, streams: Iterable[str]) -> None:
        names: dict[str, list[str]] = {"workspace": [], "key": []}
        for stream in streams:
            kind, _, name = stream.partition("/")
            names[kind].append(name)
        await self._load_workspaces(self.keys, names["workspace"])
        for ids in chunks(names["key"], AT_ONCE):
            await self._put(self.keys, await access.keys_by_id(self._fetch, ids))

    async def _put(self, keys: Keys, claims: Sequence[KeyClaim]) -> None:
        new = {claim.workspace for claim in claims if not keys.has_workspace(claim.workspace)}
        await self._load_workspaces(keys, new)
        for claim in claims:
            if claim.revoked:
                keys.remove(claim.id)
            else:
                keys.put(claim)

    async def _load_workspaces(self, keys: Keys, slugs: Iterable[str]) -> None:
        for some in chunks(slugs, AT_ONCE):
            async with asyncio.timeout(PATIENCE):
                workspaces = await self._repository.workspaces(some)
            for workspace in workspaces:
                keys.put_workspace(workspace)


class KeyUses:
    """Writes the day on which each key was last used, after the requests that used it.

    Uses wait in memory, one per key and day. A killed process loses uses that it has not written,
    until the key is used again.
    """

    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch
        self._days: dict[str, date] = {}
        self._waiting: dict[date, list[str]] = {}
        self._faults = FaultLog(_log, "key uses cannot be written")

    def record(self, key_id: str, day: date) -> None:
        if self._days.get(key_id) != day:
            self._days[key_id] = day
            self._waiting.setdefault(day, []).append(key_id)

    async def run(self) -> None:
        while True:
            await asyncio.sleep(INTERVAL)
            await self.write()

    async def write(self) -> None:
        """Writes the waiting uses. What cannot be written is tried again next time."""
        for day in sorted(self._waiting):
            ids = self._waiting[day]
            while some := ids[:AT_ONCE]:
                try:
                    async with asyncio.timeout(PATIENCE):
                        await access.record_use(self._fetch, some, day)
                except Exception as error:
                    self._faults.add(error)
                    return
                del ids[: len(some)]
            del self._waiting[day]
