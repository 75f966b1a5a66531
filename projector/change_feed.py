"""The change feed: a row for each change that readers can see (ADR 48)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from projector.rows import ChangeRow, EntryState
from read_side.changes import ChangeRecord, Kind
from read_side.notices import MOST_FED, FedChange
from write_side.domain.changes import actor_name
from write_side.domain.content_type import ContentType
from write_side.domain.entry import Entry
from write_side.domain.events import ContentTypeRemoved, EntryCreated, EntryDeleted
from write_side.postgres.connection import Connection

CHANGE_COLUMNS = ChangeRow.__struct_fields__
"""The columns of ``change``, in the order of ``put_changes``."""


def entry_change(
    event: Any, position: int, before: EntryState | None, after: EntryState, type_slug: str
) -> ChangeRow:
    """The change that an entry's event makes. ``type_slug``: of its content type."""
    entry, known = after.entry, before.entry if before else None
    statuses = {entry.status} if known is None else {known.status, entry.status}
    has_other_slug = known is not None and known.slug != entry.slug
    return ChangeRow(
        workspace=entry.workspace,
        environment=entry.environment,
        position=position,
        kind=_kind(event, known, entry),
        published="published" in statuses,
        content_type_id=entry.content_type_id,
        content_type=type_slug,
        entry_id=entry.id,
        slug=entry.slug,
        former_slug=known.slug if known and has_other_slug else None,
        language=entry.language,
        status=entry.status,
        version=entry.version,
        at=entry.updated_at,
        actor=actor_name(event.actor),
    )


def _kind(event: Any, before: Entry | None, after: Entry) -> Kind:
    if isinstance(event, EntryCreated):
        return "entry.created"
    if isinstance(event, EntryDeleted):
        return "entry.deleted"
    assert before is not None
    match before.status, after.status:
        case (old, new) if old == new:
            return "entry.updated"
        case (_, "published"):
            return "entry.published"
        case (_, "archived"):
            return "entry.archived"
        case ("published", _):
            return "entry.unpublished"
    return "entry.updated"  # a draft again, out of the archive


def type_change(event: Any, position: int, after: ContentType) -> ChangeRow:
    """The change that a content type's event makes. It concerns published entries too, because they
    are rendered by the definition."""
    is_removed = isinstance(event, ContentTypeRemoved)
    return ChangeRow(
        workspace=after.workspace,
        environment=after.environment,
        position=position,
        kind="contentType.removed" if is_removed else "contentType.changed",
        published=True,
        content_type_id=after.id,
        content_type=after.slug,
        version=after.version,
        at=after.updated_at,
        actor=actor_name(event.actor),
    )


def change_rows(changes: Iterable[ChangeRow]) -> Iterator[tuple[Any, ...]]:
    return (msgspec.structs.astuple(change) for change in changes)


def fed_changes(changes: Sequence[ChangeRow]) -> tuple[FedChange, ...] | None:
    """What a notice says of the changes; None if they are too many."""
    if len(changes) > MOST_FED:
        return None
    return tuple(
        FedChange(workspace, environment, ChangeRecord(*change))
        for workspace, environment, *change in change_rows(changes)
    )


async def copy_changes(connection: Connection, changes: Iterable[ChangeRow]) -> None:
    await connection.copy_records_to_table(
        "change", records=change_rows(changes), columns=CHANGE_COLUMNS
    )
