"""What a batch of events makes of the read model: rows to write and rows to remove."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

import msgspec
from msgspec import Struct

from read_side.rendering import Renderer, Shape, Stage
from write_side.domain.definition import Field
from write_side.domain.definition import Stage as StageDefinition
from write_side.domain.entry import Entry
from write_side.domain.events import Plan

_SHAPES = tuple[Shape, ...]
_STAGES = tuple[Stage, ...]


class TypeRow(Struct, frozen=True, kw_only=True):
    """A content type, and what renders its entries."""

    id: str
    workspace: str
    environment: str
    slug: str
    name: str
    fields: tuple[Field, ...]
    stages: tuple[StageDefinition, ...]
    version: int
    created_at: datetime
    updated_at: datetime

    def renderer(self) -> Renderer:
        return Renderer(
            msgspec.convert(self.fields, _SHAPES, from_attributes=True),
            msgspec.convert(self.stages, _STAGES, from_attributes=True),
        )


class EntryState(Struct, frozen=True):
    """An entry and the position at which it was created, which orders the lists."""

    entry: Entry
    position: int


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
    skipped: int
    imported_at: datetime


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
