"""Makes claims and usage, which are derived from the log, what the log says they are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import asyncpg
import msgspec

from write_side import claims
from write_side.claims import Claims
from write_side.domain import entry as entries
from write_side.domain.events import Event
from write_side.domain.identity import (
    content_type_stream,
    entry_stream,
    key_stream,
    workspace_stream,
)
from write_side.statements import STATEMENTS
from write_side.store.append import ENTRIES, slug_hash
from write_side.store.mapper import EventMapper

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

ATTEMPTS = 5
_STREAM = """
SELECT topic, state FROM write_side.event WHERE originator_id = $1 ORDER BY originator_version"""


async def repair(store: Connection, wrong: Sequence[tuple[str, str]]) -> int:
    """``wrong``: table and primary key as JSON. What was mended meanwhile is left alone.

    Returns the number of rows made anew or removed. Raises what PostgreSQL does where the log
    itself holds what claims forbid.
    """
    for attempt in range(ATTEMPTS):
        try:
            # Appends take the head last: from here on none is committed, and whoever has claims
            # already and waits for the head is told of a deadlock, or we are, and try again.
            async with store.transaction():
                await store.execute(STATEMENTS["hold_appends"])
                return await Repair(store).all(wrong)
        except asyncpg.DeadlockDetectedError:
            if attempt == ATTEMPTS - 1:
                raise
    raise AssertionError("unreachable")


class Repair:
    """Within one transaction that holds up all appends."""

    def __init__(self, store: Connection) -> None:
        self._store = store
        self._mapper = EventMapper()

    async def all(self, wrong: Sequence[tuple[str, str]]) -> int:
        keys: dict[str, list[Any]] = {}
        for relation, key in wrong:
            keys.setdefault(relation, []).append(msgspec.json.decode(key))
        # First all goes that is wrong: it may stand in the way of what is right.
        for relation in ("entry_claim", "content_type_claim", "key_claim"):
            ids = [key[0] for key in keys.get(relation, ())]
            await self._store.execute(STATEMENTS[f"drop_{relation}s"], ids)
        for (entry_id,) in keys.get("entry_claim", ()):
            await self._entry(entry_id)
        for (type_id,) in keys.get("content_type_claim", ()):
            await self._around("put_content_type_claim", type_id, content_type_stream(type_id))
        for (key_id,) in keys.get("key_claim", ()):
            await self._around("put_key_claim", key_id, key_stream(key_id))
        for workspace, environment, quota in keys.get("usage", ()):
            await self._usage(workspace, environment, quota)
        await self._store.execute(STATEMENTS["raise_access"])
        return len(wrong)

    async def _events(self, stream: str) -> list[Event]:
        rows = await self._store.fetch(_STREAM, stream)
        return [self._mapper.decode(row["topic"], row["state"]) for row in rows]

    async def _entry(self, entry_id: str) -> None:
        events: list[Any] = list(await self._events(entry_stream(entry_id)))
        entry = entries.fold(events)
        if entry is not None and not entry.deleted:
            await self._store.execute(
                STATEMENTS["put_entry_claim"],
                entry.id,
                entry.workspace,
                entry.environment,
                entry.content_type_id,
                entry.language,
                slug_hash(entry.slug),
            )

    async def _around(self, statement: str, key: str, stream: str) -> None:
        events = await self._events(stream)
        expected = await self._folded(events)
        row = expected.content_types.get(key) or expected.keys.get(key)
        if row is not None:
            await self._store.execute(STATEMENTS[statement], *msgspec.structs.astuple(row))

    async def _folded(self, events: Iterable[Event]) -> Claims:
        """A content type counts against its workspace's plan, so that comes first."""
        events = list(events)
        expected = Claims()
        if events:
            claims.take(expected, await self._events(workspace_stream(events[0].workspace)))
            claims.take(expected, events)
        return expected

    async def _usage(self, workspace: str, environment: str, quota: str) -> None:
        expected = Claims()
        claims.take(expected, await self._events(workspace_stream(workspace)))
        await self._store.execute(STATEMENTS["drop_usage"], workspace, environment, quota)
        row = expected.usage.get((workspace, environment, quota))
        if row is not None:
            statement = "count_entries" if quota == ENTRIES else "count_content_types"
            await self._store.execute(
                STATEMENTS[statement], workspace, environment, quota, row.bound
            )
