"""What a batch of events makes of the read model: rows to write and rows to remove."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

from msgspec import Struct

from write_side.domain.definition import Field, Stage
from write_side.domain.entry import Entry, evolve
from write_side.domain.events import EntryEvent, Plan
from write_side.domain.rendering import Renderer


class TypeRow(Struct, frozen=True, kw_only=True):
    """A content type, and what renders its entries."""

    id: str
    workspace: str
    environment: str
    slug: str
    name: str
    fields: tuple[Field, ...]
    stages: tuple[Stage, ...]
    version: int
    created_at: datetime
    updated_at: datetime

    def renderer(self) -> Renderer:
        return Renderer(self.fields, self.stages)


class EntryState(Struct, frozen=True):
    """An entry, the position at which it was created, which orders the lists, and since when it
    has the slug that it has."""

    entry: Entry
    position: int
    slug_since: datetime


class PastSlug(Struct, frozen=True, kw_only=True):
    """A slug that an entry had; ``position``: of the event by which it gave it up."""

    workspace: str
    environment: str
    position: int
    content_type_id: str
    language: str
    slug: str
    id: str
    since: datetime
    until: datetime


class PastType(Struct, frozen=True, kw_only=True):
    """A content type that was removed; ``position``: of the event by which it was."""

    workspace: str
    environment: str
    slug: str
    position: int
    id: str
    since: datetime
    until: datetime


def evolved(known: EntryState | None, event: EntryEvent, position: int) -> EntryState:
    """The entry after its next event."""
    if known is None:
        return EntryState(evolve(None, event), position, event.at)
    entry = evolve(known.entry, event)
    since = known.slug_since if entry.slug == known.entry.slug else event.at
    return EntryState(entry, known.position, since)


def given_up(before: EntryState | None, after: EntryState, position: int) -> PastSlug | None:
    """The slug that the entry had before, where it has it no longer: renamed or deleted."""
    if before is None or (after.entry.slug == before.entry.slug and not after.entry.deleted):
        return None
    entry = before.entry
    return PastSlug(
        workspace=entry.workspace,
        environment=entry.environment,
        position=position,
        content_type_id=entry.content_type_id,
        language=entry.language,
        slug=entry.slug,
        id=entry.id,
        since=before.slug_since,
        until=after.entry.updated_at,
    )


class WorkspaceRow(Struct, frozen=True, kw_only=True):
    slug: str
    name: str
    plan: Plan
    environments: tuple[str, ...]
    created_at: datetime


class KeyRow(Struct, frozen=True, kw_only=True):
    id: str
    workspace: str
    name: str
    permissions: tuple[str, ...]
    issued_at: datetime
    revoked_at: datetime | None = None


class MediaRow(Struct, frozen=True, kw_only=True):
    workspace: str
    id: str
    url: str
    name: str
    content_type: str


class ImportRow(Struct, frozen=True, kw_only=True):
    id: str
    workspace: str
    environment: str
    content_type_id: str
    file_name: str
    created: int
    updated: int
    unchanged: int
    skipped: int
    failed: int
    imported_by: str
    imported_at: datetime
    reverted_at: datetime | None = None


CountKey = tuple[str, str, str, str, str]
"""Workspace, environment, content type id, status, language."""


class Rows(Struct):
    """The read model's rows by their keys: what it has, or what is to become of it.

    None is a row that is gone. As the state before a batch it holds what the batch's events build
    on; as the outcome, all that they changed.
    """

    workspaces: dict[str, WorkspaceRow] = {}
    keys: dict[str, KeyRow] = {}
    media: dict[tuple[str, str], MediaRow | None] = {}
    imports: dict[str, ImportRow] = {}
    types: dict[str, TypeRow | None] = {}
    entries: dict[str, EntryState | None] = {}
    past_slugs: list[PastSlug] = []
    past_types: list[PastType] = []

    def changed(self) -> bool:
        return any((self.workspaces, self.keys, self.media, self.imports, self.types, self.entries))


def count_changes(before: Rows, after: Rows) -> Counter[CountKey]:
    """What the maintained counts gain and lose with the entries of the batch."""
    changes: Counter[CountKey] = Counter()
    for entry_id, state in after.entries.items():
        known = before.entries.get(entry_id)
        if known is not None:
            changes[count_key(known.entry)] -= 1
        if state is not None:
            changes[count_key(state.entry)] += 1
    return Counter({key: n for key, n in changes.items() if n})


def count_key(entry: Entry) -> CountKey:
    return (
        entry.workspace,
        entry.environment,
        entry.content_type_id,
        entry.status,
        entry.language,
    )
