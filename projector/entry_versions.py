"""The versions of entries that have ended, for lists as of a moment (ADR 47).

The version that an entry has now is in ``entry``. It becomes a row of ``past_version`` when the
next event of the entry ends it; such rows never change.
"""

from __future__ import annotations

from projector.rows import EntryState, PastVersion
from read_side.lifetimes import class_of
from write_side.domain.keys import LONGEST

VERSION_COLUMNS = (
    "workspace",
    "environment",
    "content_type_id",
    "status",
    "language",
    "position",
    "until",
    "updated_at",
    "lifetime",
    "id",
    "version",
    "stage_id",
    "created_at",
    "published_at",
    "title",
    "slug",
)
"""The columns of ``past_version``, in the order of ``ended_version`` and of ``put_versions``."""


def ended_version(before: EntryState | None, after: EntryState) -> PastVersion | None:
    """The version that the event ended; None if it was the first event, or if both have the same
    time: then no moment has the version."""
    if before is None:
        return None
    entry, until = before.entry, after.entry.updated_at
    if entry.updated_at >= until:
        return None
    return (
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
        comparable(entry.title),
        comparable(entry.slug),
    )


def comparable(text: str) -> str | None:
    """None for a text that filters do not compare."""
    return text if len(text.encode()) <= LONGEST else None
