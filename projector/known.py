"""Loads what a batch builds on, set-wise, from the read model itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Raw

from projector.projection import Recorded, needs
from projector.rows import EntryState, ImportRow, KeyRow, Rows, TypeRow, WorkspaceRow
from write_side.domain.definition import Field, Stage
from write_side.domain.entry import Entry
from write_side.domain.events import Plan, Translation
from write_side.postgres.connection import Connection
from write_side.postgres.statements import statement

_ENTRIES = statement("projector", "known_entries")
_SIZES = statement("projector", "known_sizes")
_TYPES = statement("projector", "known_types")
_WORKSPACES = statement("projector", "known_workspaces")
_KEYS = statement("projector", "known_keys")
_IMPORTS = statement("projector", "known_imports")

_VALUES = msgspec.json.Decoder(dict[str, Raw])
_TRANSLATIONS = msgspec.json.Decoder(dict[str, Translation])
_FIELDS = msgspec.json.Decoder(tuple[Field, ...])
_STAGES = msgspec.json.Decoder(tuple[Stage, ...])
_PLAN = msgspec.json.Decoder(Plan)


FEW = 16
KNOWN_BYTES = 32 * 1024 * 1024
"""What the entries that a batch builds on may take in memory; a few are never too many."""


async def affordable(connection: Connection, batch: list[Recorded]) -> list[Recorded]:
    """The batch, or as much of its beginning as builds on no more than KNOWN_BYTES of entries."""
    wanted = needs(batch).entries
    if len(wanted) <= FEW:
        return batch
    rows = await connection.fetch(_SIZES, *_keys(batch, wanted))
    sizes = {row["id"]: row["bytes"] for row in rows}
    total = 0
    for number, recorded in enumerate(batch):
        total += sizes.pop(getattr(recorded.event, "entry_id", ""), 0)
        if total > KNOWN_BYTES and number:
            return batch[:number]
    return batch


async def known_rows(
    connection: Connection, batch: list[Recorded], types: dict[str, TypeRow]
) -> Rows:
    """The rows before the batch. ``types`` is a cache of content types, which it fills."""
    wanted = needs(batch)
    before = Rows()
    if wanted.entries:
        rows = await connection.fetch(_ENTRIES, *_keys(batch, wanted.entries))
        before.entries.update((row["id"], entry_state(row)) for row in rows)
    missing = wanted.types - types.keys()
    if missing:
        types.update(await types_by_id(connection, missing))
    before.types.update((i, types[i]) for i in wanted.types if i in types)
    if wanted.workspaces:
        rows = await connection.fetch(_WORKSPACES, list(wanted.workspaces))
        before.workspaces.update((row["slug"], _workspace(row)) for row in rows)
    if wanted.keys:
        rows = await connection.fetch(_KEYS, list(wanted.keys))
        before.keys.update((row["id"], _key(row)) for row in rows)
    if wanted.imports:
        rows = await connection.fetch(_IMPORTS, list(wanted.imports))
        before.imports.update((row["id"], ImportRow(**row)) for row in rows)
    return before


async def types_by_id(connection: Connection, ids: Iterable[str]) -> dict[str, TypeRow]:
    """The content types that there are of these."""
    rows = await connection.fetch(_TYPES, list(ids))
    return {row["id"]: type_row(row) for row in rows}


def _keys(batch: Iterable[Recorded], wanted: set[str]) -> list[list[Any]]:
    """The keys of the wanted entries, as columns."""
    events: dict[str, Any] = {getattr(r.event, "entry_id", ""): r.event for r in batch}
    found = [events[entry_id] for entry_id in wanted]
    return [
        [event.workspace for event in found],
        [event.environment for event in found],
        [event.entry_id for event in found],
    ]


def entry_state(row: Any) -> EntryState:
    """The entry that a row of ``entry`` holds: enough to fold further events onto it."""
    translations = row["translations"]
    entry = Entry(
        id=row["id"],
        workspace=row["workspace"],
        environment=row["environment"],
        content_type_id=row["content_type_id"],
        slug=row["slug"],
        title=row["title"],
        language=row["language"],
        status=row["status"],
        stage_id=row["stage_id"],
        fields=_VALUES.decode(row["stored"]),
        translations=_TRANSLATIONS.decode(translations) if translations else {},
        published_at=row["published_at"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        version=row["version"],
    )
    return EntryState(entry, row["position"], row["slug_since"])


def type_row(row: Any) -> TypeRow:
    return TypeRow(
        id=row["id"],
        workspace=row["workspace"],
        environment=row["environment"],
        slug=row["slug"],
        name=row["name"],
        fields=_FIELDS.decode(row["fields"]),
        stages=_STAGES.decode(row["stages"]),
        version=row["version"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def _workspace(row: Any) -> WorkspaceRow:
    return WorkspaceRow(
        slug=row["slug"],
        name=row["name"],
        plan=_PLAN.decode(row["plan"]),
        environments=tuple(row["environments"]),
        created_at=row["created_at"],
    )


def _key(row: Any) -> KeyRow:
    return KeyRow(
        id=row["id"],
        workspace=row["workspace"],
        name=row["name"],
        permissions=tuple(row["permissions"]),
        issued_at=row["issued_at"],
        revoked_at=row["revoked_at"],
    )
