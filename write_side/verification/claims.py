"""The rows that the claims tables must have: a fold of the log.

The claims tables change only inside the append, so at every position of the log they equal the fold
of the events up to it. The rows of command keys cannot be derived, and nothing depends on them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TypeAlias

import msgspec
from msgspec import Struct
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
from write_side.domain.identity import ENVIRONMENTS, PRODUCTION, slug_hash
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
_KEYS = "SELECT * FROM write_side.key_claim"
_USAGE = "SELECT * FROM write_side.usage"


class EntryClaimRow(Struct, frozen=True):
    id: str
    workspace: str
    environment: str
    content_type_id: str
    language: str
    slug_hash: bytes


class ContentTypeClaimRow(Struct, frozen=True):
    id: str
    workspace: str
    environment: str
    slug: str
    version: int


class KeyClaimRow(Struct, frozen=True):
    id: str
    workspace: str
    name: str
    secret_hash: str
    permissions: tuple[str, ...]
    environment: str | None
    expires_at: datetime | None
    revoked: bool


class UsageRow(Struct, frozen=True):
    workspace: str
    environment: str
    quota: str
    used: int
    bound: int | None


class Claims(Struct):
    """The rows of the claims tables, each by its primary key."""

    entry_claim: dict[str, EntryClaimRow] = {}
    content_type_claim: dict[str, ContentTypeClaimRow] = {}
    key_claim: dict[str, KeyClaimRow] = {}
    usage: dict[tuple[str, str, str], UsageRow] = {}

    def apply(self, events: Iterable[Event]) -> None:
        """Folds further events of the log. Usage gets the plans' limits; ``count`` sets what is
        used."""
        for event in events:
            self._apply(event)

    def _apply(self, event: Event) -> None:
        place = (event.workspace, event.environment or PRODUCTION)
        match event:
            case EntryCreated(entry_id=key):
                type_id, digest = event.content_type_id, slug_hash(event.slug)
                self.entry_claim[key] = EntryClaimRow(key, *place, type_id, event.language, digest)
            case EntryUpdated(entry_id=key, slug=str(slug)):
                row = self.entry_claim[key]
                self.entry_claim[key] = replace(row, slug_hash=slug_hash(slug))
            case EntryDeleted(entry_id=key):
                del self.entry_claim[key]
            case ContentTypeCreated(content_type_id=key):
                self.content_type_claim[key] = ContentTypeClaimRow(key, *place, event.slug, 1)
            case ContentTypeRevised(content_type_id=key):
                held = self.content_type_claim[key]
                self.content_type_claim[key] = replace(held, version=held.version + 1)
            case ContentTypeRemoved(content_type_id=key):
                del self.content_type_claim[key]
            case KeyIssued(key_id=key):
                self.key_claim[key] = KeyClaimRow(
                    key,
                    event.workspace,
                    event.name,
                    event.secret_hash,
                    event.permissions,
                    event.key_environment,
                    event.expires_at,
                    revoked=False,
                )
            case KeyPermissionsChanged(key_id=key):
                self.key_claim[key] = replace(
                    self.key_claim[key],
                    permissions=event.permissions,
                    environment=event.key_environment,
                    expires_at=event.expires_at,
                )
            case KeyRevoked(key_id=key):
                self.key_claim[key] = replace(self.key_claim[key], revoked=True)
            case WorkspaceCreated():
                self._set_bounds(place, event.plan)
            case PlanChanged():
                for environment in ENVIRONMENTS:
                    if (event.workspace, environment, ENTRIES) in self.usage:
                        self._set_bounds((event.workspace, environment), event.plan)
            case EnvironmentAdded():
                for quota in (ENTRIES, CONTENT_TYPES):
                    usage = self.usage[event.workspace, PRODUCTION, quota]
                    self.usage[*place, quota] = replace(usage, environment=place[1])

    def count(self, entries: Mapping[Place, int]) -> None:
        """Sets what is used: the given number of entries, and the number of content types."""
        types = Counter(
            (row.workspace, row.environment) for row in self.content_type_claim.values()
        )
        for key, row in self.usage.items():
            used = entries if row.quota == ENTRIES else types
            self.usage[key] = replace(row, used=used.get((row.workspace, row.environment), 0))

    def _set_bounds(self, place: Place, plan: Plan) -> None:
        for quota, bound in ((ENTRIES, plan.entries), (CONTENT_TYPES, plan.content_types)):
            self.usage[*place, quota] = UsageRow(*place, quota, 0, bound)


async def stored_entries(
    connection: Connection, first: str | None, end: str | None
) -> dict[str, EntryClaimRow]:
    """The rows of entries from the id ``first``, inclusive, to ``end``, exclusive."""
    rows = await connection.fetch(_ENTRIES, first, end)
    return {row["id"]: EntryClaimRow(**row) for row in rows}


async def stored_without_entries(connection: Connection) -> Claims:
    types = await connection.fetch(_CONTENT_TYPES)
    keys = await connection.fetch(_KEYS)
    usage = await connection.fetch(_USAGE)
    return Claims(
        {},
        {row["id"]: ContentTypeClaimRow(**row) for row in types},
        {row["id"]: msgspec.convert(dict(row), KeyClaimRow) for row in keys},
        {(row["workspace"], row["environment"], row["quota"]): UsageRow(**row) for row in usage},
    )
