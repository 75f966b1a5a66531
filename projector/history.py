"""What a batch of events adds to the history: versions and slugs that have ended, for lists as of a
moment (ADR 47); changes, for the feed (ADR 48); and a notice, for processes that cache responses
(ADR 38)."""

from __future__ import annotations

from typing import Any

from projector.rows import EntryState, PastSlug, PastVersion, Rows
from read_side.changes import ChangeRecord
from read_side.lifetimes import class_of
from read_side.notices import MOST_FED, FedChange, Notice, TypeChange
from write_side.domain.content_type import ContentType
from write_side.domain.entry import Entry
from write_side.domain.entry_changes import actor_name
from write_side.domain.events import STATUSES, ChangeKind, EntryCreated, EntryDeleted
from write_side.domain.identity import slug_hash
from write_side.domain.keys import LONGEST


def add_history(
    rows: Rows,
    event: Any,
    position: int,
    before: EntryState | None,
    after: EntryState,
    type_slug: str,
) -> None:
    """``type_slug``: of the entry's content type."""
    if before is not None:
        if after.entry.slug != before.entry.slug or after.entry.deleted:
            rows.past_slugs.append(_past_slug(before, after, position))
        # A version that began and ended at the same time was never current.
        if before.entry.updated_at < after.entry.updated_at:
            rows.past_versions.append(_past_version(before, after))
    rows.changes.append(entry_change(event, position, before, after, type_slug))


def _past_slug(before: EntryState, after: EntryState, position: int) -> PastSlug:
    entry = before.entry
    return PastSlug(
        workspace=entry.workspace,
        environment=entry.environment,
        position=position,
        content_type_id=entry.content_type_id,
        language=entry.language,
        slug_hash=slug_hash(entry.slug),
        id=entry.id,
        since=before.slug_since,
        until=after.entry.updated_at,
    )


def _past_version(before: EntryState, after: EntryState) -> PastVersion:
    entry, until = before.entry, after.entry.updated_at
    # By position: with sixteen names, this would take twice as long for each update.
    return PastVersion(
        entry.workspace,
        entry.environment,
        entry.content_type_id,
        entry.status,
        entry.language,
        before.position,
        until,
        entry.updated_at,
        class_of(entry.updated_at, until),
        entry.id,
        entry.version,
        entry.stage_id,
        entry.created_at,
        entry.published_at,
        _comparable(entry.title),
        _comparable(entry.slug),
    )


def _comparable(text: str) -> str | None:
    """None for a text that filters do not compare."""
    return text if len(text.encode()) <= LONGEST else None


def entry_change(
    event: Any, position: int, before: EntryState | None, after: EntryState, type_slug: str
) -> FedChange:
    """The change that an entry's event makes. ``type_slug``: of its content type."""
    entry, known = after.entry, before.entry if before else None
    statuses = {entry.status} if known is None else {known.status, entry.status}
    has_other_slug = known is not None and known.slug != entry.slug
    change = ChangeRecord(
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
    return FedChange(entry.workspace, entry.environment, change)


def _kind(event: Any, before: Entry | None, after: Entry) -> ChangeKind:
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


def type_change(event: Any, position: int, after: ContentType) -> FedChange:
    """The change that a content type's event makes. It concerns published entries too, because they
    are rendered by the definition."""
    change = ChangeRecord(
        position=position,
        kind="contentType.removed" if after.removed else "contentType.changed",
        published=True,
        content_type_id=after.id,
        content_type=after.slug,
        entry_id=None,
        slug=None,
        former_slug=None,
        language=None,
        status=None,
        version=after.version,
        at=after.updated_at,
        actor=actor_name(event.actor),
    )
    return FedChange(after.workspace, after.environment, change)


def notice(epoch: int, after: int, position: int, before: Rows, rows: Rows) -> Notice:
    """The notice of a batch. ``rows``: those that it changes."""
    return Notice(
        epoch=epoch,
        after=after,
        position=position,
        changed=type_changes(before, rows),
        media=tuple(sorted({workspace for workspace, _ in rows.media})),
        fed=tuple(rows.changes) if len(rows.changes) <= MOST_FED else None,
    )


def type_changes(before: Rows, after: Rows) -> tuple[TypeChange, ...] | None:
    """One for each content type that has changed, or of whose entries some have; None where it is
    not known which."""
    statuses: dict[str, set[str]] = {}
    entries: dict[str, list[str]] = {}
    for entry_id, state in after.entries.items():
        known = before.entries.get(entry_id)
        for version in (known, state):
            if version is not None:
                statuses.setdefault(version.entry.content_type_id, set()).add(version.entry.status)
        if known is not None:
            entries.setdefault(known.entry.content_type_id, []).append(entry_id)
    changes = []
    # An entry that the batch has created and deleted was never there, but the feed has its changes.
    of_feed = {fed.change.content_type_id for fed in after.changes}
    for type_id in statuses.keys() | after.types.keys() | of_feed:
        type_ = after.types.get(type_id) or before.types.get(type_id)
        if type_ is None:
            return None
        is_definition = type_id in after.types
        changes.append(
            TypeChange(
                type_.workspace,
                type_.environment,
                type_.slug,
                STATUSES if is_definition else tuple(sorted(statuses.get(type_id, ()))),
                None if is_definition else tuple(entries.get(type_id, ())),
            )
        )
    return tuple(changes)
