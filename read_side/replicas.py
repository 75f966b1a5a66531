"""Replicas of the read model: standbys of its PostgreSQL, which read in place of the primary.

The result of a replica is used only if a response that was read at its stamp could be kept in
memory and used now: ``Freshness`` decides that, from the notices of the primary (ADR 52). Otherwise
the primary is read. No read waits for a replica.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Literal, Protocol, TypeVar

import asyncpg
import structlog
from msgspec import Struct

from read_side.checkpoint import fetch_checkpoint
from read_side.freshness import NONE, Freshness
from read_side.notices import Dependency
from read_side.pool import Pool
from read_side.refusals import ReadModelUnavailable
from read_side.stamp import position_of
from write_side.postgres.connection import connected
from write_side.postgres.pooler import host_of
from write_side.waiting import cancel_all, wait_until_set

TIMEOUT = 1.0
"""Seconds for a statement or a connection; then the primary is asked."""
POLL = 0.25
"""Seconds between two reads of a replica's checkpoint."""
POLL_WANTED = 0.02
"""The same while reads go to the primary because the replica was behind."""
BACKOFF = 1.0
LONGEST_BACKOFF = 30.0
_log = structlog.get_logger("read_side.replicas")

Outcome = Literal["used", "away", "behind", "outdated", "refused", "failed"]
"""The outcome of a read. All but "used" went to the primary: "away": no replica responds; "behind":
none has reached what the read depends on; "outdated": it was read, but could not be used;
"refused": nothing was found, or it needs the primary; "failed": a fault or a timeout."""


class Readable(Protocol):
    @property
    def stamp(self) -> int | None:
        """The stamp of the earliest checkpoint at which something was read, if anything was."""

    @property
    def dependencies(self) -> Sequence[Dependency]:
        """The things that it was made of."""


R = TypeVar("R", bound=Readable)


class ReplicaStatus(Struct, frozen=True):
    """``lag``: events of the read model that it has not applied; None while it is away."""

    name: str
    lag: int | None


class Replica:
    """One server, and the task that follows its checkpoint. After a fault it is left out until
    its checkpoint can be read again, at first for BACKOFF seconds."""

    def __init__(self, url: str) -> None:
        self.name = host_of(url)
        self.pool = Pool(url, self._learn, patience=TIMEOUT, attempts=1)
        self.reads = 0
        """Under way."""
        self.latest = NONE
        """The latest stamp that it has shown since it is up."""
        self.is_up = False
        self._url = url
        self._wanted = asyncio.Event()
        self._backoff = BACKOFF

    async def follow(self) -> None:
        """Runs until it is cancelled."""
        while True:
            try:
                await self._poll()
            except Exception as error:
                _log.warning("a read replica is left out", replica=self.name, fault=repr(error))
            finally:
                self.leave_out()
            await asyncio.sleep(self._backoff)
            self._backoff = min(2 * self._backoff, LONGEST_BACKOFF)

    def leave_out(self) -> None:
        """Ends the reads under way."""
        self.is_up = False
        self.pool.close()
        self._wanted.set()

    def poll_soon(self) -> None:
        self._wanted.set()

    def used(self) -> None:
        self._backoff = BACKOFF

    async def _poll(self) -> None:
        """Returns when it is left out because of a read."""
        async with connected(self._url, timeout=TIMEOUT, command_timeout=TIMEOUT) as connection:
            # A replica that was restored may be at an earlier checkpoint than before.
            self.latest = (await fetch_checkpoint(connection)).stamp
            self.is_up = True
            _log.info("a read replica is used", replica=self.name)
            while self.is_up:
                self._learn((await fetch_checkpoint(connection)).stamp)
                await self._pause()

    async def _pause(self) -> None:
        self._wanted.clear()
        await wait_until_set(self._wanted, POLL)
        await asyncio.sleep(POLL_WANTED)

    def _learn(self, stamp: int) -> None:
        self.latest = max(self.latest, stamp)


class Replicas:
    """Chooses the replica for a read, and decides whether what it returned is used. ``count`` gets
    the outcome of each read."""

    def __init__(
        self,
        replicas: Sequence[Replica],
        freshness: Freshness,
        count: Callable[[Outcome], None],
    ) -> None:
        self._replicas = [*replicas]
        """The one that was chosen last is the last."""
        self._freshness = freshness
        self._count = count

    async def read(
        self, dependencies: Sequence[Dependency], read: Callable[[Pool], Awaitable[R]]
    ) -> R | None:
        """The result of a replica, or None if the primary has to be read. ``dependencies``:
        of the read, as far as they are known before."""
        if not self._replicas:
            return None
        reading, outcome = await self._read(dependencies, read)
        self._count(outcome)
        return reading

    def status(self) -> list[ReplicaStatus]:
        """The state of each replica, by name."""
        at = position_of(self._freshness.applied)
        statuses = [
            ReplicaStatus(one.name, max(at - position_of(one.latest), 0) if one.is_up else None)
            for one in self._replicas
        ]
        return sorted(statuses, key=lambda status: status.name)

    async def _read(
        self, dependencies: Sequence[Dependency], read: Callable[[Pool], Awaitable[R]]
    ) -> tuple[R | None, Outcome]:
        up = [candidate for candidate in self._replicas if candidate.is_up]
        if not up:
            return None, "away"
        replica = self._choose(up, dependencies)
        if replica is None:
            return None, "behind"
        replica.reads += 1
        try:
            reading = await read(replica.pool)
        except ReadModelUnavailable as error:
            # A standby also cancels a query that is in the way of what it has to apply.
            if not isinstance(error.__cause__, asyncpg.SerializationError):
                replica.leave_out()
            return None, "failed"
        except Exception:
            return None, "refused"  # The primary decides, and raises it where it is right.
        finally:
            replica.reads -= 1
        stamp = reading.stamp
        if stamp is None:
            return None, "refused"
        if not self._freshness.may_use(stamp, replica.latest, reading.dependencies):
            replica.poll_soon()
            return None, "outdated"
        replica.used()
        return reading, "used"

    def _choose(self, up: Sequence[Replica], dependencies: Sequence[Dependency]) -> Replica | None:
        """The least busy replica of those that may have what the read needs."""
        may_use = self._freshness.may_use
        usable = [one for one in up if may_use(one.latest, one.latest, dependencies)]
        if not usable:
            for replica in up:
                replica.poll_soon()
            return None
        chosen = min(usable, key=lambda replica: replica.reads)
        self._replicas.remove(chosen)
        self._replicas.append(chosen)
        return chosen


@asynccontextmanager
async def open_replicas(
    urls: Sequence[str], freshness: Freshness, count: Callable[[Outcome], None]
) -> AsyncIterator[Replicas]:
    """Does not wait for a replica."""
    replicas = [Replica(url) for url in urls]
    following = [
        asyncio.create_task(one.follow(), name=f"read replica {one.name}") for one in replicas
    ]
    try:
        yield Replicas(replicas, freshness, count)
    finally:
        await cancel_all(*following)
