"""Corrects claims and usage according to the log."""

from __future__ import annotations

from collections.abc import Sequence

import asyncpg
import msgspec

from write_side.domain.identity import (
    content_type_stream,
    entry_stream,
    key_stream,
    workspace_stream,
)
from write_side.postgres.connection import Connection, catalog_transaction
from write_side.store.mapper import EventMapper
from write_side.store.recorder import STREAM
from write_side.verification.claim_check import Difference
from write_side.verification.claims import Claims

ATTEMPTS = 5
STREAM_OF = {
    "entry_claim": entry_stream,
    "content_type_claim": content_type_stream,
    "key_claim": key_stream,
}
_HOLD_APPENDS = "SELECT position FROM write_side.head FOR UPDATE"
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
                await _rewrite(store, wrong)
                return len(wrong)
        except asyncpg.DeadlockDetectedError:
            if attempt == ATTEMPTS - 1:
                raise
    raise AssertionError("unreachable")


async def _rewrite(store: Connection, wrong: Sequence[Difference]) -> None:
    """Runs within one transaction, for which all appends wait."""
    mapper = EventMapper()
    keys: dict[str, list[list[str]]] = {}
    for difference in wrong:
        keys.setdefault(difference.relation, []).append(msgspec.json.decode(difference.key))
    # All wrong rows are deleted before any is inserted, because they may hold the slugs of the
    # right ones.
    for table, statement in _DELETE.items():
        await store.execute(statement, [key for (key,) in keys.get(table, ())])
    for table, stream_of in STREAM_OF.items():
        for (key,) in keys.get(table, ()):
            claims = await _claims_of(store, mapper, stream_of(key))
            if row := getattr(claims, table).get(key):
                await store.execute(_INSERT[table], *msgspec.structs.astuple(row))
    for workspace, environment, quota in keys.get("usage", ()):
        claims = await _claims_of(store, mapper, workspace_stream(workspace))
        await store.execute(_DELETE_USAGE, workspace, environment, quota)
        if usage := claims.usage.get((workspace, environment, quota)):
            await store.execute(_INSERT_USAGE, workspace, environment, quota, usage.bound)
    await store.execute(_RAISE_ACCESS)


async def _claims_of(store: Connection, mapper: EventMapper, stream: str) -> Claims:
    claims = Claims()
    claims.apply(map(mapper.event_of, await store.fetch(STREAM, stream)))
    return claims
