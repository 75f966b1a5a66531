"""The outcome of an import and of its revert, from the log."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from write_side.commands import RevertImport
from write_side.dispatch import Reserve, execute
from write_side.domain.content_type import ContentType
from write_side.domain.entry_changes import actor_name
from write_side.domain.events import ImportedRow, ImportReverted
from write_side.domain.identity import Actor, Scope
from write_side.handlers.imports import check_same_import
from write_side.handlers.reverts import recorded_import
from write_side.imports.preview import Counts, ImportRow, Note
from write_side.imports.request import ImportRequest
from write_side.repository import Repository

LONGEST_NOTE = 300


class RevertReportEntry(Struct, frozen=True):
    """``at`` and ``by``: of the entry's last change. That is the revert, unless a later change kept
    the revert from touching the entry."""

    entry_id: str
    slug: str
    at: datetime
    by: str


class RevertReport(Struct, frozen=True):
    """``position``: of the last event. ``replayed``: the import was reverted before."""

    import_id: str
    at: datetime
    by: str
    deleted: tuple[RevertReportEntry, ...]
    restored: tuple[RevertReportEntry, ...]
    changed_since: tuple[RevertReportEntry, ...]
    gone: tuple[RevertReportEntry, ...]
    position: int
    replayed: bool = False


class Report(Struct, frozen=True, kw_only=True):
    """``position``: of the last event, 0 if there is none. ``rows`` are in the order of the file.
    Right after the import they have notes per cell; the log has these as one text."""

    import_id: str
    file_name: str
    content_type: ContentType
    language: str
    at: datetime
    by: str
    counts: Counts
    rows: tuple[ImportRow, ...]
    position: int
    replayed: bool = False
    reverted: RevertReport | None = None


async def import_report(repository: Repository, scope: Scope, import_id: str) -> Report:
    """Raises UnknownImport, also for an import of another workspace or environment."""
    recorded, appended = await recorded_import(repository, scope, import_id)
    content_type = await repository.content_type_by_id(recorded.content_type_id)
    revert = await repository.find_revert(import_id)
    return Report(
        import_id=import_id,
        file_name=recorded.file_name,
        content_type=content_type,
        language=recorded.language,
        at=recorded.at,
        by=actor_name(recorded.by or recorded.actor),
        counts=Counts(
            new=recorded.created,
            update=recorded.updated,
            unchanged=recorded.unchanged,
            skipped=recorded.skipped,
            error=recorded.failed,
        ),
        rows=tuple(map(_row, recorded.rows)),
        position=appended.last,
        reverted=None if revert is None else _revert_report(revert[0], revert[1].last),
    )


async def earlier_report(
    repository: Repository, request: ImportRequest, fingerprint: str
) -> Report | None:
    """The report of the import with this id, if it has run. Raises ImportIdTaken, and FileMismatch
    if the fingerprint is that of another file."""
    scope, import_id = request.scope, request.import_id
    found = await repository.find_import(import_id)
    if found is None:
        return None
    content_type = await repository.fresh_content_type(scope, request.content_type_slug)
    check_same_import(found[0], import_id, scope, content_type, fingerprint)
    return replace(await import_report(repository, scope, import_id), replayed=True)


async def revert_import(
    repository: Repository,
    scope: Scope,
    import_id: str,
    by: Actor,
    request_id: str | None = None,
    reserve: Reserve | None = None,
) -> RevertReport:
    """Deletes the entries that the import created and restores those it updated, unless they have
    changed since.

    A second revert does nothing. References to a deleted entry keep its id, as after any delete.
    Raises UnknownImport, and what ``reserve`` raises.
    """
    command = RevertImport(actor=by, request_id=request_id, scope=scope, import_id=import_id)
    executed = await execute(command, repository, reserve)
    reverted = executed.events[0].event
    assert isinstance(reverted, ImportReverted)
    return _revert_report(reverted, executed.position, replayed=executed.replayed)


def _revert_report(event: ImportReverted, position: int, *, replayed: bool = False) -> RevertReport:
    def entries(outcome: str) -> tuple[RevertReportEntry, ...]:
        return tuple(
            RevertReportEntry(
                one.entry_id, one.slug, one.at or event.at, actor_name(one.by or event.actor)
            )
            for one in event.entries
            if one.outcome == outcome
        )

    return RevertReport(
        import_id=event.import_id,
        at=event.at,
        by=actor_name(event.actor),
        deleted=entries("deleted"),
        restored=entries("restored"),
        changed_since=entries("changed"),
        gone=entries("gone"),
        position=position,
        replayed=replayed,
    )


def recorded_row(row: ImportRow) -> ImportedRow:
    """The row as it is recorded in the log: its errors as one text, cut between words."""
    errors = [str(note) for note in row.notes if note.severity == "error"]
    if row.omitted is not None and row.omitted.errors:
        errors.append(f"{row.omitted.errors:,} more")
    text = "; ".join(errors)
    if len(text) > LONGEST_NOTE:
        text = text[: LONGEST_NOTE - 1].rsplit(" ", 1)[0] + "…"
    outcome = "updated" if row.state == "update" else row.state
    return ImportedRow(row.number, outcome, row.entry_id, row.slug, text)


def _row(row: ImportedRow) -> ImportRow:
    return ImportRow(
        number=row.number,
        state="update" if row.outcome == "updated" else row.outcome,
        slug=row.slug,
        entry_id=row.entry_id,
        notes=(Note(None, "", "error", "", row.note),) if row.note else (),
    )
