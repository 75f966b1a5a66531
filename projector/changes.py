"""What a batch changes, for those who keep what they have read (ADR 38)."""

from __future__ import annotations

from collections.abc import Iterator

from projector.rows import EntryState, Rows
from read_side.notices import TypeChange
from write_side.domain.content_type import ContentType
from write_side.domain.events import STATUSES


def type_changes(before: Rows, after: Rows) -> tuple[TypeChange, ...] | None:
    """One for each content type that has changed, or of whose entries some have; None where it is
    not known which."""
    statuses: dict[str, set[str]] = {}
    entries: dict[str, list[str]] = {}
    for entry_id, type_id, states in _changed_entries(before, after):
        statuses.setdefault(type_id, set()).update(state.entry.status for state in states)
        if before.entries.get(entry_id) is not None:
            entries.setdefault(type_id, []).append(entry_id)
    changes = []
    # An entry that the batch has created and deleted was never there, but the feed has its changes.
    of_feed = {change.content_type_id for change in after.changes}
    for type_id in statuses.keys() | after.types.keys() | of_feed:
        content_type = after.types.get(type_id) or before.types.get(type_id)
        if content_type is None:
            return None
        if type_id in after.types:
            changes.append(_change(content_type, STATUSES, None))
        else:
            ids = tuple(entries.get(type_id, ()))
            of_type = tuple(sorted(statuses.get(type_id, ())))
            changes.append(_change(content_type, of_type, ids))
    return tuple(changes)


def media_changes(after: Rows) -> tuple[str, ...]:
    """The workspaces whose media libraries have changed."""
    return tuple(sorted({workspace for workspace, _ in after.media}))


def _changed_entries(before: Rows, after: Rows) -> Iterator[tuple[str, str, list[EntryState]]]:
    """Each entry's id, its type's id, and what it was and is, as far as it was or is there."""
    for entry_id, state in after.entries.items():
        states = [one for one in (before.entries.get(entry_id), state) if one is not None]
        if states:
            yield entry_id, states[0].entry.content_type_id, states


def _change(
    content_type: ContentType, statuses: tuple[str, ...], entries: tuple[str, ...] | None
) -> TypeChange:
    return TypeChange(
        content_type.workspace, content_type.environment, content_type.slug, statuses, entries
    )
