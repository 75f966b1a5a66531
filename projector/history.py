"""What an entry's event ends: a version, for lists as of a moment (ADR 47), and sometimes a slug;
and the change that it makes (ADR 48)."""

from __future__ import annotations

from typing import Any

from projector.change_feed import entry_change
from projector.rows import EntryState, PastSlug, PastVersion, Rows
from read_side.lifetimes import class_of
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
