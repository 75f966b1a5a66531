"""What the claims must be, derived again from the log, and what they are: for ``verify``.

The claims tables change only inside the append, so at every position of the log they equal the
fold of the events up to there. The row of a command's key is not derivable, and nothing else is
built on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import asyncpg
import msgspec
from msgspec import Struct, UnsetType, field
from msgspec.structs import replace

from write_side.domain.events import (
    ContentTypeCreated,
    ContentTypeRemoved,
    ContentTypeRevised,
    EntryCreated,
    EntryDeleted,
    EntryUpdated,
    EnvironmentAdded,
    Event,
    KeyIssued,
    KeyPermissionsChanged,
    KeyRevoked,
    Plan,
    PlanChanged,
    WorkspaceCreated,
)
from write_side.domain.identity import ENVIRONMENTS, PRODUCTION
from write_side.domain.slugs import slug_hash
from write_side.store.append import CONTENT_TYPES, ENTRIES
from write_side.store.recorder import Pool

Connection: TypeAlias = (
    "asyncpg.Connection[asyncpg.Record] | asyncpg.pool.PoolConnectionProxy[asyncpg.Record]"
)

_HEAD = "SELECT position FROM write_side.head"
_ENTRIES = """
SELECT id::text, workspace, environment, content_type_id::text, language, slug_hash
FROM write_side.entry_claim"""
_CONTENT_TYPES = """
SELECT id::text, workspace, environment, slug, version FROM write_side.content_type_claim"""
_KEYS = """
SELECT id, workspace, name, secret_hash, permissions, revoked FROM write_side.key_claim"""
_USAGE = "SELECT workspace, environment, quota, used, bound FROM write_side.usage"


class EntryRow(Struct, frozen=True):
    id: str
    workspace: str
    environment: str
    content_type_id: str
    language: str
    slug_hash: bytes


class ContentTypeRow(Struct, frozen=True):
    id: str
    workspace: str
    environment: str
    slug: str
    version: int


class KeyRow(Struct, frozen=True):
    id: str
    workspace: str
    name: str
    secret_hash: str
    permissions: tuple[str, ...]
    revoked: bool


class UsageRow(Struct, frozen=True):
    workspace: str
    environment: str
    quota: str
    used: int
    bound: int | None


UsageKey = tuple[str, str | None, str]


class Claims(Struct):
    """The rows of the claims tables, each by its primary key."""

    entries: dict[str, EntryRow] = field(default_factory=dict)
    content_types: dict[str, ContentTypeRow] = field(default_factory=dict)
    keys: dict[str, KeyRow] = field(default_factory=dict)
    usage: dict[UsageKey, UsageRow] = field(default_factory=dict)

    def use(self, event: Event, quota: str, n: int) -> None:
        key = (event.workspace, event.environment, quota)
        self.usage[key] = replace(self.usage[key], used=self.usage[key].used + n)

    def bind(self, workspace: str, environment: str, plan: Plan) -> None:
        """Set the plan's limits for one environment; what is used stays."""
        for quota, bound in ((ENTRIES, plan.entries), (CONTENT_TYPES, plan.content_types)):
            known = self.usage.get((workspace, environment, quota))
            used = known.used if known else 0
            row = UsageRow(workspace, environment, quota, used, bound)
            self.usage[(workspace, environment, quota)] = row


def fold(events: Iterable[Event]) -> Claims:
    """The claims after the events, which are the log's from its first on, in order."""
    claims = Claims()
    take(claims, events)
    return claims


def take(claims: Claims, events: Iterable[Event]) -> None:
    """Fold further events onto the claims."""
    for event in events:
        step = STEPS.get(type(event))
        if step is not None:
            step(claims, event)


def key_text(key: str | UsageKey) -> str:
    """A row's primary key as JSON."""
    return msgspec.json.encode([key] if isinstance(key, str) else key).decode()


async def stored(pool: Pool) -> tuple[int, Claims]:
    """The claims as the tables hold them, and the position of the log at which they do."""
    async with pool.acquire() as connection, connection.transaction(isolation="repeatable_read"):
        position = await connection.fetchval(_HEAD)
        claims = await stored_around(connection)
        entries = await connection.fetch(_ENTRIES)
    claims.entries.update((row["id"], EntryRow(**row)) for row in entries)
    return position, claims


async def stored_around(connection: Connection) -> Claims:
    """The claims as the tables hold them, without those of entries."""
    types = await connection.fetch(_CONTENT_TYPES)
    keys = await connection.fetch(_KEYS)
    usage = await connection.fetch(_USAGE)
    return Claims(
        {},
        {row["id"]: ContentTypeRow(**row) for row in types},
        {row["id"]: msgspec.convert(dict(row), KeyRow) for row in keys},
        {(row["workspace"], row["environment"], row["quota"]): UsageRow(**row) for row in usage},
    )


def _workspace_created(claims: Claims, event: WorkspaceCreated) -> None:
    claims.bind(event.workspace, PRODUCTION, event.plan)


def _plan_changed(claims: Claims, event: PlanChanged) -> None:
    for environment in ENVIRONMENTS:
        if (event.workspace, environment, ENTRIES) in claims.usage:
            claims.bind(event.workspace, environment, event.plan)


def _environment_added(claims: Claims, event: EnvironmentAdded) -> None:
    assert event.environment is not None
    entries, types = (
        claims.usage[(event.workspace, PRODUCTION, quota)].bound
        for quota in (ENTRIES, CONTENT_TYPES)
    )
    plan = Plan(entries=entries, content_types=types)
    claims.bind(event.workspace, event.environment, plan)


def _content_type_created(claims: Claims, event: ContentTypeCreated) -> None:
    assert event.environment is not None
    claims.content_types[event.content_type_id] = ContentTypeRow(
        event.content_type_id, event.workspace, event.environment, event.slug, 1
    )
    claims.use(event, CONTENT_TYPES, 1)


def _content_type_revised(claims: Claims, event: ContentTypeRevised) -> None:
    row = claims.content_types[event.content_type_id]
    claims.content_types[row.id] = replace(row, version=row.version + 1)


def _content_type_removed(claims: Claims, event: ContentTypeRemoved) -> None:
    del claims.content_types[event.content_type_id]
    claims.use(event, CONTENT_TYPES, -1)


def _entry_created(claims: Claims, event: EntryCreated) -> None:
    assert event.environment is not None
    claims.entries[event.entry_id] = EntryRow(
        event.entry_id,
        event.workspace,
        event.environment,
        event.content_type_id,
        event.language,
        slug_hash(event.slug),
    )
    claims.use(event, ENTRIES, 1)


def _entry_updated(claims: Claims, event: EntryUpdated) -> None:
    if not isinstance(event.slug, UnsetType):
        row = claims.entries[event.entry_id]
        claims.entries[row.id] = replace(row, slug_hash=slug_hash(event.slug))


def _entry_deleted(claims: Claims, event: EntryDeleted) -> None:
    del claims.entries[event.entry_id]
    claims.use(event, ENTRIES, -1)


def _key_issued(claims: Claims, event: KeyIssued) -> None:
    claims.keys[event.key_id] = KeyRow(
        event.key_id, event.workspace, event.name, event.secret_hash, event.permissions, False
    )


def _key_permitted(claims: Claims, event: KeyPermissionsChanged) -> None:
    row = claims.keys[event.key_id]
    claims.keys[row.id] = replace(row, permissions=event.permissions)


def _key_revoked(claims: Claims, event: KeyRevoked) -> None:
    row = claims.keys[event.key_id]
    claims.keys[row.id] = replace(row, revoked=True)


STEPS: dict[type[Event], Callable[[Claims, Any], None]] = {
    WorkspaceCreated: _workspace_created,
    PlanChanged: _plan_changed,
    EnvironmentAdded: _environment_added,
    ContentTypeCreated: _content_type_created,
    ContentTypeRevised: _content_type_revised,
    ContentTypeRemoved: _content_type_removed,
    EntryCreated: _entry_created,
    EntryUpdated: _entry_updated,
    EntryDeleted: _entry_deleted,
    KeyIssued: _key_issued,
    KeyPermissionsChanged: _key_permitted,
    KeyRevoked: _key_revoked,
}
"""What each event does to the claims; those that are not here claim nothing."""
