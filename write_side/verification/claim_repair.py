"""Corrects claims and usage according to the log."""

from __future__ import annotations

from collections.abc import Sequence

import asyncpg
import msgspec

from write_side.domain.events import Event
from write_side.domain.identity import (
    content_type_stream,
    entry_stream,
    key_stream,
    workspace_stream,
)
from write_side.postgres.connection import Connection, catalog_transaction
from write_side.store.mapper import EventMapper
from write_side.verification.claim_check import Difference
from write_side.verification.claims import Claims

ATTEMPTS = 5
STREAM_OF = {
    "entry_claim": entry_stream,
    "content_type_claim": content_type_stream,
    "key_claim": key_stream,
}
_HOLD_APPENDS = "SELECT position FROM write_side.head FOR UPDATE"
_STREAM = """
SELECT topic, state, at FROM write_side.event
WHERE originator_id = $1 ORDER BY originator_version"""
_DELETE = {
    "entry_claim": "DELETE FROM write_side.entry_claim WHERE id = ANY ($1::uuid[])",
    "content_type_claim": "DELETE FROM write_side.content_type_claim WHERE id = ANY ($1::uuid[])",
    "key_claim": "DELETE FROM write_side.key_claim WHERE id = ANY ($1)",
    # The next update that reads enough events writes a new one.
    "entry_snapshot": """
        DELETE FROM write_side.entry_snapshot
        WHERE stream IN (SELECT 'entry/' || id FROM unnest($1::text[]) AS id)""",
}
# The columns are in the order of the Structs in claims.py.
_INSERT = {
    "entry_claim": """
        INSERT INTO write_side.entry_claim
            (id, workspace, environment, content_type_id, language, slug_hash)
        VALUES ($1, $2, $3, $4, $5, $6)""",
    "content_type_claim": """
        INSERT INTO write_side.content_type_claim (id, workspace, environment, slug, version)
        VALUES ($1, $2, $3, $4, $5)""",
    "key_claim": """
        INSERT INTO write_side.key_claim
            (id, workspace, name, secret_hash, permissions, environment, expires_at, revoked)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)""",
}
_DELETE_USAGE = """
DELETE FROM write_side.usage WHERE (workspace, environment, quota) = ($1, $2, $3)"""
# Counts the claims, which are correct by then.
_INSERT_USAGE = """
INSERT INTO write_side.usage (workspace, environment, quota, used, bound)
SELECT $1::text, $2::text, $3::text, count(*), $4 FROM (
    SELECT FROM write_side.entry_claim
    WHERE $3 = 'entries' AND workspace = $1 AND environment = $2
    UNION ALL
    SELECT FROM write_side.content_type_claim
    WHERE $3 = 'content_types' AND workspace = $1 AND environment = $2
) AS used"""
# The API's caches of keys and plans compare the version.
_RAISE_ACCESS = """
WITH raised AS (UPDATE write_side.access SET version = version + 1 RETURNING version)
SELECT pg_notify('contentlog_access', '') FROM raised"""


async def repair(store: Connection, wrong: Sequence[Difference]) -> int:
    """Rewrites these rows from the log, while appends wait. Returns their number. Rows that are
    correct by now do not change. Raises PostgresError if the log itself violates the claims'
    constraints."""
    for attempt in range(ATTEMPTS):
        try:
            # Appends lock the head last, so none commits from here on. An append that already has
            # claims and waits for the head causes a deadlock, and either it or this is retried.
            async with catalog_transaction(store):
                await store.execute(_HOLD_APPENDS)
                await _Repair(store).all(wrong)
                return len(wrong)
        except asyncpg.DeadlockDetectedError:
            if attempt == ATTEMPTS - 1:
                raise
    raise AssertionError("unreachable")


class _Repair:
    """Runs within one transaction, for which all appends wait."""

    def __init__(self, store: Connection) -> None:
        self._store = store
        self._mapper = EventMapper()

    async def all(self, wrong: Sequence[Difference]) -> None:
        keys: dict[str, list[list[str]]] = {}
        for one in wrong:
            keys.setdefault(one.relation, []).append(msgspec.json.decode(one.key))
        # All wrong rows are deleted before any is inserted, because they may hold the slugs of the
        # right ones.
        for table, statement in _DELETE.items():
            await self._store.execute(statement, [key for (key,) in keys.get(table, ())])
        for table in STREAM_OF:
            for (key,) in keys.get(table, ()):
                await self._insert(table, key)
        for workspace, environment, quota in keys.get("usage", ()):
            await self._recount(workspace, environment, quota)
        await self._store.execute(_RAISE_ACCESS)

    async def _insert(self, table: str, key: str) -> None:
        claims = Claims()
        claims.apply(await self._events(STREAM_OF[table](key)))
        row = getattr(claims, table).get(key)
        if row is not None:
            await self._store.execute(_INSERT[table], *msgspec.structs.astuple(row))

    async def _recount(self, workspace: str, environment: str, quota: str) -> None:
        key = (workspace, environment, quota)
        claims = Claims()
        claims.apply(await self._events(workspace_stream(workspace)))
        await self._store.execute(_DELETE_USAGE, *key)
        if key in claims.usage:
            await self._store.execute(_INSERT_USAGE, *key, claims.usage[key].bound)

    async def _events(self, stream: str) -> list[Event]:
        rows = await self._store.fetch(_STREAM, stream)
        return [self._mapper.decode(row["topic"], row["state"], row["at"]) for row in rows]
