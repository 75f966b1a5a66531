"""The rows that the claims tables must have: a fold of the log.

The claims tables change only inside the append, so at every position of the log they equal the
fold of the events up to there. The rows of command keys cannot be derived, and nothing depends on
them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

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
from write_side.postgres.connection import Connection
from write_side.store.append import CONTENT_TYPES, ENTRIES

Place: TypeAlias = tuple[str, str]
"""A workspace and an environment."""

_ENTRIES = """
SELECT id::text, workspace, environment, content_type_id::text, language, slug_hash
FROM write_side.entry_claim
WHERE ($1::uuid IS NULL OR id >= $1) AND ($2::uuid IS NULL OR id < $2)"""
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


class Claims(Struct):
    """The rows of the claims tables, each by its primary key."""

    entry_claim: dict[str, EntryRow] = field(default_factory=dict)
    content_type_claim: dict[str, ContentTypeRow] = field(default_factory=dict)
    key_claim: dict[str, KeyRow] = field(default_factory=dict)
    usage: dict[tuple[str, str, str], UsageRow] = field(default_factory=dict)

    def take(self, events: Iterable[Event]) -> None:
        """Fold further events of the log. Usage gets the plans' limits; ``count`` says what is
        used."""
        for event in events:
            step = STEPS.get(type(event))
            if step is not None:
                step(self, event)

    def count(self, entries: Mapping[Place, int]) -> None:
        """Set what is used: as many entries as given, and the content types there are."""
        types = Counter(
            (row.workspace, row.environment) for row in self.content_type_claim.values()
        )
        for key, row in self.usage.items():
            used = entries if row.quota == ENTRIES else types
            self.usage[key] = replace(row, used=used.get((row.workspace, row.environment), 0))

    def bind(self, workspace: str, environment: str, plan: Plan) -> None:
        """Set the plan's limits for one environment."""
        for quota, bound in ((ENTRIES, plan.entries), (CONTENT_TYPES, plan.content_types)):
            row = UsageRow(workspace, environment, quota, 0, bound)
            self.usage[(workspace, environment, quota)] = row


def fold(events: Iterable[Event]) -> Claims:
    """The claims after the events of the log from the first on."""
    claims = Claims()
    claims.take(events)
    claims.count(_places(claims.entry_claim.values()))
    return claims


async def stored(connection: Connection) -> Claims:
    """The rows that the tables have. Call it in a transaction that reads one snapshot."""
    claims = await stored_without_entries(connection)
    claims.entry_claim = await stored_entries(connection)
    return claims


async def stored_entries(
    connection: Connection, first: str | None = None, end: str | None = None
) -> dict[str, EntryRow]:
    """The rows of entries from the id ``first`` on and before ``end``."""
    rows = await connection.fetch(_ENTRIES, first, end)
    return {row["id"]: EntryRow(**row) for row in rows}


async def stored_without_entries(connection: Connection) -> Claims:
    types = await connection.fetch(_CONTENT_TYPES)
    keys = await connection.fetch(_KEYS)
    usage = await connection.fetch(_USAGE)
    return Claims(
        {},
        {row["id"]: ContentTypeRow(**row) for row in types},
        {row["id"]: msgspec.convert(dict(row), KeyRow) for row in keys},
        {(row["workspace"], row["environment"], row["quota"]): UsageRow(**row) for row in usage},
    )


def _places(rows: Iterable[EntryRow | ContentTypeRow]) -> Counter[Place]:
    return Counter((row.workspace, row.environment) for row in rows)


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
    claims.content_type_claim[event.content_type_id] = ContentTypeRow(
        event.content_type_id, event.workspace, event.environment, event.slug, 1
    )


def _content_type_revised(claims: Claims, event: ContentTypeRevised) -> None:
    row = claims.content_type_claim[event.content_type_id]
    claims.content_type_claim[row.id] = replace(row, version=row.version + 1)


def _content_type_removed(claims: Claims, event: ContentTypeRemoved) -> None:
    del claims.content_type_claim[event.content_type_id]


def _entry_created(claims: Claims, event: EntryCreated) -> None:
    assert event.environment is not None
    claims.entry_claim[event.entry_id] = EntryRow(
        event.entry_id,
        event.workspace,
        event.environment,
        event.content_type_id,
        event.language,
        slug_hash(event.slug),
    )


def _entry_updated(claims: Claims, event: EntryUpdated) -> None:
    if not isinstance(event.slug, UnsetType):
        row = claims.entry_claim[event.entry_id]
        claims.entry_claim[row.id] = replace(row, slug_hash=slug_hash(event.slug))


def _entry_deleted(claims: Claims, event: EntryDeleted) -> None:
    del claims.entry_claim[event.entry_id]


def _key_issued(claims: Claims, event: KeyIssued) -> None:
    claims.key_claim[event.key_id] = KeyRow(
        event.key_id, event.workspace, event.name, event.secret_hash, event.permissions, False
    )


def _key_permitted(claims: Claims, event: KeyPermissionsChanged) -> None:
    row = claims.key_claim[event.key_id]
    claims.key_claim[row.id] = replace(row, permissions=event.permissions)


def _key_revoked(claims: Claims, event: KeyRevoked) -> None:
    row = claims.key_claim[event.key_id]
    claims.key_claim[row.id] = replace(row, revoked=True)


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
"""What each event does to the claims. Events that are not here claim nothing."""
